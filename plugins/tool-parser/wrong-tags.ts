import type { RawValue } from "./raw-value.ts";

/** A closing tag as a whole; the last letter may be missing. */
const CLOSING_TAG = /^<\/[^<>\n]{1,256}>?$/;
const CLOSING_TAGS = /^(?:<\/[^<>]*>\s*)+$/;
const TAG_NAME = /^<\/([^\s<>=]*)/;

/**
 * A value whose closing tag was left out, perhaps with another in its place.
 * @param stem What closing tags start with that models write in place of its own.
 */
export function withoutClosingTag(text: string, stem: string): RawValue {
  const lastAt = text.trimEnd().lastIndexOf("<");
  const last = text.slice(lastAt).trimEnd();
  const endsInTag = CLOSING_TAG.test(last);
  const wrongAt = text.indexOf(stem);
  if (wrongAt >= 0 && !isOpened(stem, text, wrongAt)) {
    // `ls\n</param>` is `ls`; behind that of `ls\n</param>\n<timeout>5` stands what may be another value.
    const inPlace = wrongAt === lastAt && endsInTag;
    return inPlace ? { text: text.slice(0, lastAt), open: true } : { text, open: true, stray: `${stem}…` };
  }
  // `ls\n</command>` may be `ls`, or text; `cat </dev/null` and `<b>x</b>` are text.
  const isStray = endsInTag && last.endsWith(">") && !isOpened(last, text, lastAt);
  return isStray ? { text, open: true, stray: last } : { text, open: true };
}

/** Whether a text opens, before `at`, what a closing tag there closes. */
const isOpened = (closing: string, text: string, at: number): boolean =>
  text.lastIndexOf(`<${TAG_NAME.exec(closing)![1]}`, at) >= 0;

/** Whether text behind a value is mere closing tags: they close nothing. */
export const isClosingTags = (text: string): boolean => CLOSING_TAGS.test(text);

/** What stands where it should not, for a message. */
export const shown = (text: string): string => /^[^\n]{0,64}/u.exec(text)![0].trimEnd();
