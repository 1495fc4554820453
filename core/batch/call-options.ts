import { VerlError } from "../errors/verl-error.ts";
import { nearest } from "../registry/nearest.ts";

/**
 * Options are read by their names: of a list, a flag or a misspelt name nothing would be read, and nothing be said.
 * @param names of the options that the method has. @throws VERL_BATCH_ARGUMENT
 */
export function requireOptions(method: string, options: unknown, names: readonly string[]): void {
  const takes = `It takes an object: ${method}({ ${names.join(", ")} }).`;
  if (typeof options !== "object" || options === null || Symbol.iterator in options) {
    throw refuse(`${method}() was called with ${describe(options)} in place of its options.`, takes);
  }
  const strange = Object.keys(options).find((name) => !names.includes(name));
  if (strange === undefined) return;
  const [meant] = nearest(strange, names, 1);
  throw refuse(
    `${method}() has no option "${strange}".`,
    `${meant === undefined ? "" : `Did you mean "${meant}"? `}${takes}`,
  );
}

/** Each of them is a list of keys, or absent. @throws VERL_BATCH_ARGUMENT */
export function requireKeyLists(method: string, keys: unknown, names: readonly string[]): void {
  requireOptions(method, keys, names);
  for (const [name, list] of Object.entries(keys as object)) {
    if (list === undefined || Array.isArray(list)) continue;
    throw refuse(`\`${name}\` of ${method}() is ${describe(list)}, not a list.`, `Write ${name}: ["…"].`);
  }
}

/** @throws VERL_BATCH_ARGUMENT for what is no conflict policy. */
export function requirePolicy(method: string, policy: string): void {
  if (["error", "keep", "replace"].includes(policy)) return;
  throw refuse(
    `The conflict policy of ${method}() is ${describe(policy)}.`,
    'It is "error" (the default), "keep" (the left one\'s) or "replace" (the right one\'s).',
  );
}

const refuse = (message: string, hint: string): VerlError => new VerlError("VERL_BATCH_ARGUMENT", message, { hint });

function describe(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "string") return `the text ${JSON.stringify(value)}`;
  return typeof value === "object" && value !== null ? `a ${value.constructor.name}` : String(value);
}
