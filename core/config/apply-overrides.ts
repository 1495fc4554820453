import { OverrideSyntaxError, parseOverride, printValue, type Override } from "./override-grammar.ts";
import { place, type Problem } from "./problem.ts";
import type { SchemaName } from "./schema/index.ts";
import { unexpandedVariable } from "./shell-variable.ts";
import { didYouMean, existingDepth, keysHint, suggestPaths } from "./suggest.ts";
import {
  fromValue,
  getAt,
  locationOf,
  merge,
  parsePath,
  removeAt,
  setAt,
  showPath,
  toValue,
  type MapNode,
  type Node,
  type Origin,
  type Path,
} from "./tree.ts";

/** What the config's schema knows of a path; a plain tree has none of it. */
export interface OverrideRules {
  /** The config's tree, for hints. */
  readonly schema?: SchemaName;
  /** Where a key has moved. */
  readonly movedTo?: (path: Path) => Path | undefined;
  /** True for keys that may be set although the tree does not have them. Without this rule, `+` may add any key. */
  readonly accepts?: (path: Path) => boolean;
  /** What `~key` leaves behind: a value, `gone` for the key itself, or `needed` when it has to have a value. */
  readonly removed?: (path: Path) => { value: unknown } | "gone" | "needed";
}

/** True where null at a moved key says nothing: verl's default for some old names, which means that the new one decides. */
export const leavesMovedKey = ({ removed }: OverrideRules, to: Path): boolean => typeof removed?.(to) === "string";

/** Parses overrides; what is not in the grammar becomes a problem. */
export function parseOverrides(texts: readonly string[]): { overrides: Override[]; problems: Problem[] } {
  const problems: Problem[] = [];
  const overrides = texts.flatMap((text) => {
    try {
      const variable = unexpandedVariable(text);
      if (variable !== undefined) throw leftByShell(variable);
      return [parseOverride(text)];
    } catch (error) {
      if (!(error instanceof OverrideSyntaxError)) throw error;
      const { message, hint, column } = error;
      problems.push({ code: "VERL_CONFIG_OVERRIDE", message, hint, location: { override: text, column } });
      return [];
    }
  });
  return { overrides, problems };
}

const leftByShell = ({ name, index }: { name: string; index: number }): OverrideSyntaxError =>
  new OverrideSyntaxError(
    `The shell has not replaced \`${name}\`; between single quotes, and where no shell reads the line, it stays as it is.`,
    index + 1,
    `Write the value itself, or \${oc.env:${name.slice(1)}} for an exported variable; a value in quotes of its own is kept as text.`,
  );

/** Applies overrides in order. Each that cannot be applied is a problem, and the rest go on. */
export function applyOverrides(
  root: MapNode,
  overrides: readonly Override[],
  rules: OverrideRules = {},
): { root: MapNode; problems: Problem[]; moved: { from: Path; to: Path; origin: Origin }[] } {
  const problems: Problem[] = [];
  const moved: { from: Path; to: Path; origin: Origin }[] = [];
  let tree: Node = root;
  for (const override of overrides) {
    const given = parsePath(override.key);
    const path = rules.movedTo?.(given) ?? given;
    const origin: Origin = { from: "override", override: override.text };
    if (path !== given) {
      moved.push({ from: given, to: path, origin });
      if (override.value === null && leavesMovedKey(rules, path)) continue;
    }
    const result = apply(tree, override, path, origin, rules);
    if ("code" in result) problems.push(result);
    else tree = result;
  }
  return { root: tree as MapNode, problems, moved };
}

function apply(tree: Node, override: Override, path: Path, origin: Origin, rules: OverrideRules): Node | Problem {
  const problem = (message: string, hint?: string, code: Problem["code"] = "VERL_CONFIG_OVERRIDE"): Problem => ({
    code,
    message,
    hint,
    location: locationOf(origin, path),
  });
  const name = showPath(path);
  const held = getAt(tree, path);
  const { op, value, written } = override;
  const assigned = `${override.key}=${printValue(value)}`;

  if (op === "remove") return remove(tree, override, path, held, rules, problem);
  if (op === "set" && held === undefined && !rules.accepts?.(path)) {
    const missing = showPath(path.slice(0, existingDepth(tree, path) + 1));
    const meant = didYouMean(suggestPaths(tree, path));
    const add = rules.accepts === undefined ? `To add a new key, write +${assigned}.` : undefined;
    return problem(
      `There is no config key \`${missing}\`.`,
      [meant, add].filter(Boolean).join(" ") || keysHint(rules.schema ?? "ppo"),
      "VERL_CONFIG_KEY_UNKNOWN",
    );
  }
  const plain = fromValue(value, origin);
  const node = plain.kind === "scalar" && written !== undefined ? { ...plain, written } : plain;
  if (op === "add" && held !== undefined && held.origin.from !== "default" && node.kind === "scalar" && !isNull(held)) {
    const where = place(locationOf(held.origin, []));
    return problem(
      `\`${name}\` exists already (${where}); + only adds what is not there.`,
      `To change it, write ${assigned} or ++${assigned}.`,
    );
  }
  const result = setAt(tree, path, held === undefined ? node : merge(held, node), origin);
  if (result !== undefined) return result;
  const barrier = showPath(path.slice(0, -1));
  return problem(`\`${name}\` cannot be set: \`${barrier}\` is neither a map nor a list with such an index.`);
}

function remove(
  tree: Node,
  { key, value }: Override,
  path: Path,
  held: Node | undefined,
  rules: OverrideRules,
  problem: (message: string, hint?: string) => Problem,
): Node | Problem {
  const name = showPath(path);
  if (held === undefined) {
    if (rules.accepts?.(path)) return tree;
    return problem(`\`${name}\` cannot be removed: it does not exist.`, didYouMean(suggestPaths(tree, path)));
  }
  if (value !== undefined && printValue(toValue(held)) !== printValue(value)) {
    return problem(
      `\`${name}\` is ${printValue(toValue(held))}, not ${printValue(value)}; it was not removed.`,
      `To remove it whatever it is, write ~${key}.`,
    );
  }
  const left = rules.removed?.(path) ?? "gone";
  if (left === "gone") return removeAt(tree, path);
  if (left === "needed")
    return problem(`\`${name}\` has to have a value and cannot be removed.`, "Set it to another value instead.");
  const origin: Origin = { from: "override", override: `~${key}` };
  return setAt(tree, path, fromValue(left.value, origin), origin)!;
}

const isNull = (node: Node): boolean => node.kind === "scalar" && node.value === null;
