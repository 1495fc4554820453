type Version = readonly [major: number, minor: number, patch: number];

const VERSION = /^v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?(?:[-+][0-9A-Za-z.+-]*)?$/;
const COMPARATOR = /^(\^|~|>=|<=|>|<|=)?(.+)$/;

const compare = (a: Version, b: Version): number => a[0] - b[0] || a[1] - b[1] || a[2] - b[2];

function parse(text: string): { version: Version; parts: number } | undefined {
  const match = VERSION.exec(text);
  if (match === null) return undefined;
  const [major, minor, patch] = match.slice(1, 4);
  const parts = patch !== undefined ? 3 : minor !== undefined ? 2 : 1;
  return { version: [Number(major), Number(minor ?? 0), Number(patch ?? 0)], parts };
}

/** First version that `^`, `~` or a bare partial version shuts out. */
function ceiling(operator: string, [major, minor, patch]: Version, parts: number): Version {
  if (operator === "^" && (major > 0 || parts === 1)) return [major + 1, 0, 0];
  if (operator === "^" && (minor > 0 || parts === 2)) return [0, minor + 1, 0];
  if (operator === "^") return [0, 0, patch + 1];
  return parts === 1
    ? [major + 1, 0, 0]
    : operator === "~" || parts === 2
      ? [major, minor + 1, 0]
      : [major, minor, patch + 1];
}

type Bounds = { from: Version; below: Version };
const ALL: Bounds = { from: [0, 0, 0], below: [Infinity, 0, 0] };

function bounds(comparator: string): Bounds | undefined {
  if (comparator === "*") return ALL;
  const [, operator = "=", text = ""] = COMPARATOR.exec(comparator) ?? [];
  const parsed = parse(text);
  if (parsed === undefined) return undefined;
  const { version, parts } = parsed;
  switch (operator) {
    case ">=":
      return { from: version, below: ALL.below };
    case ">":
      return { from: ceiling("=", version, parts), below: ALL.below };
    case "<":
      return { from: ALL.from, below: version };
    case "<=":
      return { from: ALL.from, below: ceiling("=", version, parts) };
    default:
      return { from: version, below: ceiling(operator, version, parts) };
  }
}

/**
 * How a version stands to an npm range of `^ ~ >= <= > < =`, `*`, partial versions, spaces (and) and `||` (or): inside, older than
 * all of it, or newer. Undefined when the range can't be read. Pre-release tags are not compared.
 */
export function compareToRange(version: string, range: string): "inside" | "older" | "newer" | undefined {
  const parsed = parse(version)?.version;
  const alternatives = range.split("||").map((part) => part.trim().split(/\s+/).map(bounds));
  if (parsed === undefined || alternatives.some((all) => all.includes(undefined))) return undefined;
  let older = true;
  for (const all of alternatives as Bounds[][]) {
    const tooOld = all.some(({ from }) => compare(parsed, from) < 0);
    const tooNew = all.some(({ below }) => compare(parsed, below) >= 0);
    if (!tooOld && !tooNew) return "inside";
    older &&= tooOld;
  }
  return older ? "older" : "newer";
}
