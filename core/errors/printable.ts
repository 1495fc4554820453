/**
 * Text as a terminal may show it: control characters but tab and newline, and those that turn the direction of text, are written
 * out (`\x1b`). What is printed quotes model answers, datasets and foreign errors, which must not move the cursor or hide a line.
 */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Bidi_Control}]/gu, (character) => {
    if (character === "\n" || character === "\t") return character;
    const code = character.codePointAt(0)!.toString(16);
    return code.length <= 2 ? `\\x${code.padStart(2, "0")}` : `\\u${code.padStart(4, "0")}`;
  });
}
