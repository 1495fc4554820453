/** Longer names are not compared: nobody mistypes them, and the cost is quadratic. */
const MAX_LENGTH = 100;

/** Edits that turn `a` into `b`: insert, delete, replace, or swap two neighbours. */
export function damerau(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min(previous[j]! + 1, row[j - 1]! + 1, previous[j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) cost = Math.min(cost, before[j - 2]! + 1);
      row.push(cost);
    }
    before = previous;
    previous = row;
  }
  return previous[b.length]!;
}

/** One spelling for what people write in several: case, `-` against `_`, `++` against `plus_plus`. */
const normalise = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll("+", "_plus")
    .replace(/[-_. ]+/g, "_");

/**
 * Names that `given` was probably meant to be, best first, at most `limit` (default 3). Compared after normalisation; near is a
 * Damerau distance of at most a third of the length (and at least 1), or one name inside the other.
 */
export function nearest(given: string, candidates: Iterable<string>, limit = 3): string[] {
  const wanted = normalise(given);
  if (wanted.length === 0 || wanted.length > MAX_LENGTH) return [];
  const bound = Math.max(1, Math.floor(wanted.length / 3));
  const ranked: { name: string; rank: number }[] = [];
  for (const name of new Set(candidates)) {
    const own = normalise(name);
    if (own.length > MAX_LENGTH) continue;
    const distance = damerau(wanted, own);
    const inside = Math.min(own.length, wanted.length) >= 3 && (own.includes(wanted) || wanted.includes(own));
    if (distance <= bound) ranked.push({ name, rank: distance });
    else if (inside) ranked.push({ name, rank: bound + distance });
  }
  ranked.sort((a, b) => a.rank - b.rank || (a.name < b.name ? -1 : 1));
  return ranked.slice(0, limit).map(({ name }) => name);
}

/** `"a"`, `"a" or "b"`, `"a", "b" or "c"`. */
export function quotedAlternatives(names: readonly string[]): string {
  const quoted = names.map((name) => `"${name}"`);
  return quoted.length < 2 ? quoted.join("") : `${quoted.slice(0, -1).join(", ")} or ${quoted.at(-1)}`;
}
