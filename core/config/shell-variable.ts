/** A shell's variable in unquoted text: `$HOME`, `$train_files`; `${…}` is an interpolation of the config's own. */
const VARIABLE = /\$[A-Za-z_]\w*/y;

/**
 * Where the value of an override has a variable that the shell has left as it is; quoted text is meant as it stands.
 * @returns The variable, and its index in `text`.
 */
export function unexpandedVariable(text: string): { name: string; index: number } | undefined {
  let quote: string | undefined;
  for (let index = text.indexOf("=") + 1; index > 0 && index < text.length; index++) {
    const next = text[index]!;
    if (next === "\\") index++;
    else if (quote !== undefined) quote = next === quote ? undefined : quote;
    else if (next === "'" || next === '"') quote = next;
    else if (next === "$") {
      VARIABLE.lastIndex = index;
      const found = VARIABLE.exec(text);
      if (found !== null) return { name: found[0], index };
    }
  }
  return undefined;
}

/** The hint for `${NAME}` and `${NAME:-default}`, which a shell would have replaced; undefined for any other expression. */
export function environmentHint(expression: string): string | undefined {
  const [, name, fallback] = /^([A-Z_][A-Z0-9_]*)(?::[-=](.*))?$/s.exec(expression.trim()) ?? [];
  if (name === undefined) return undefined;
  return `A variable of the environment is written \${oc.env:${name}${fallback === undefined ? "" : `,${fallback}`}}.`;
}
