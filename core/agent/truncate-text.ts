/** Which part of a text that is too long is cut away. */
export type TruncateSide = "left" | "middle" | "right";

const MARK = "(truncated)";

/**
 * At most `limit` characters (code points) of the text, with a mark where the rest was: `left` keeps the end, `right` the start,
 * `middle` both ends.
 */
export function truncateText(text: string, limit: number, side: TruncateSide): string {
  // A text has no more characters than code units, and only a little of a long one is looked at.
  if (text.length <= limit) return text;
  const head = (count: number): string => [...text.slice(0, 2 * count)].slice(0, count).join("");
  const tail = (count: number): string => (count === 0 ? "" : [...text.slice(-2 * count)].slice(-count).join(""));
  if (text.length <= 2 * limit && [...text].length <= limit) return text;
  switch (side) {
    case "left":
      return `${MARK}...${tail(limit)}`;
    case "right":
      return `${head(limit)}...${MARK}`;
    case "middle":
      return `${head(Math.ceil(limit / 2))}...${MARK}...${tail(Math.floor(limit / 2))}`;
  }
}
