/** Values of one set of facts: a line of a log is no place for data. */
const MAX_VALUES = 10_000;

/** Nested deeper than this it is left out. */
const MAX_DEPTH = 16;

/**
 * Facts as JSON data, for a line of a log, or an error that crosses to another thread or process. What JSON has no place for is named:
 * `[function]`, `[DataProto of 4]`, `[circular]`; numbers that are not finite, bigints and errors are texts. Takes whatever is given, and
 * throws nothing.
 */
export function plainFacts(facts: unknown): unknown {
  let left = MAX_VALUES;
  const above = new Set<object>();
  const plain = (value: unknown): unknown => {
    left -= 1;
    if (typeof value !== "object" || value === null) return plainScalar(value);
    if (left < 0 || above.size >= MAX_DEPTH) return "[…]";
    if (above.has(value)) return "[circular]";
    above.add(value);
    try {
      return held(value);
    } catch {
      return "[unreadable]";
    } finally {
      above.delete(value);
    }
  };
  const held = (value: object): unknown => {
    const { toJSON } = value as { readonly toJSON?: unknown };
    if (typeof toJSON === "function") return plain(Reflect.apply(toJSON, value, []));
    if (Array.isArray(value)) {
      const [items, more] = shortened<unknown>(value, left);
      return [...items.map(plain), ...(more > 0 ? [`[${more} more]`] : [])];
    }
    if (value instanceof Error) return `${value.name}: ${value.message}`;
    if (!isPlain(value)) return nameOf(value);
    const [entries, more] = shortened(Object.entries(value), left);
    const known = entries.filter(([, item]) => item !== undefined).map(([key, item]) => [key, plain(item)] as const);
    return Object.fromEntries(more > 0 ? [...known, ["…", `${more} more`]] : known);
  };
  return plain(facts);
}

function plainScalar(value: unknown): unknown {
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  if (typeof value === "bigint") return String(value);
  return typeof value === "function" || typeof value === "symbol" ? `[${typeof value}]` : value;
}

/** Those that there is room for, and how many there are beyond. */
const shortened = <T>(items: readonly T[], left: number): [kept: readonly T[], more: number] => [
  items.slice(0, left),
  Math.max(items.length - left, 0),
];

/** True for `{ … }` of any realm, and for objects without a prototype. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** An instance of a class in words, with its size where it has one: `[Map of 3]`. */
function nameOf(value: object): string {
  const { length, size } = value as { readonly length?: unknown; readonly size?: unknown };
  const count = [length, size].find((each) => typeof each === "number");
  return `[${value.constructor?.name || "object"}${count === undefined ? "" : ` of ${String(count)}`}]`;
}
