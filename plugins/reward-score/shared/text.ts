/** The last `count` code points, as Python counts characters. */
export function tail(text: string, count: number): string {
  let start = text.length;
  for (let i = 0; i < count && start > 0; i++) {
    start--;
    if (start > 0 && isLowSurrogate(text, start) && isHighSurrogate(text, start - 1)) start--;
  }
  return text.slice(start);
}

const isHighSurrogate = (text: string, at: number): boolean => (text.charCodeAt(at) & 0xfc00) === 0xd800;
const isLowSurrogate = (text: string, at: number): boolean => (text.charCodeAt(at) & 0xfc00) === 0xdc00;

/** Replaces every `open…close` by what is between, the nearest `close` taken; one pass. */
export function unwrap(text: string, open: string, close: string): string {
  let out = "";
  let at = 0;
  for (;;) {
    const start = text.indexOf(open, at);
    const end = start < 0 ? -1 : text.indexOf(close, start + open.length);
    if (end < 0) return out + text.slice(at);
    out += text.slice(at, start) + text.slice(start + open.length, end);
    at = end + close.length;
  }
}

/** Without space and markdown's stars and backticks around it. */
export function withoutMarks(text: string): string {
  const isMark = (at: number): boolean => /[\s*`]/.test(text[at]!);
  let [start, end] = [0, text.length];
  while (start < end && isMark(start)) start++;
  while (start < end && isMark(end - 1)) end--;
  return text.slice(start, end);
}

/** True for an answer so much longer than the gold that no normalising makes them one; it spares long answers many passes. */
export const isFarLonger = (answer: string, gold: string): boolean => answer.length > 4 * gold.length + 4096;
