/** Which part of a text that is too long is cut away. */
export type TruncateSide = "left" | "middle" | "right";

const MARK = "(truncated)";

/**
 * At most `limit` characters (code points) of the text, with a mark where the rest was: `left` keeps the end, `right` the start,
 * `middle` both ends.
 */
export function truncateText(text: string, limit: number, side: TruncateSide): string {
  // A text has no more characters than code units.
  if (text.length <= limit || fits(text, limit)) return text;
  const { start, mark, end } = cutAt(limit, side);
  return `${firstOf(text, start)}${mark}${lastOf(text, end)}`;
}

/** How many characters are kept at the start and at the end, and the mark between them. */
export function cutAt(limit: number, side: TruncateSide): { start: number; mark: string; end: number } {
  switch (side) {
    case "left":
      return { start: 0, mark: `${MARK}...`, end: limit };
    case "right":
      return { start: limit, mark: `...${MARK}`, end: 0 };
    case "middle":
      return { start: Math.ceil(limit / 2), mark: `...${MARK}...`, end: Math.floor(limit / 2) };
  }
}

/** Only a little of a long text is looked at. */
const fits = (text: string, limit: number): boolean => text.length <= 2 * limit && [...text].length <= limit;

/** The first `count` characters. */
export const firstOf = (text: string, count: number): string => [...text.slice(0, 2 * count)].slice(0, count).join("");

/** The last `count` characters. */
export const lastOf = (text: string, count: number): string =>
  count === 0 ? "" : [...text.slice(-2 * count)].slice(-count).join("");
