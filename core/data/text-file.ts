import { isUtf8 } from "node:buffer";
import { readFile } from "node:fs/promises";
import { VerlError } from "../errors/verl-error.ts";

/** Bytes of a line's end. */
const LINE_END = 0x0a;

const UTF8 = new TextDecoder("utf-8", { fatal: true });

/** Text of a file in UTF-8, or in UTF-16 with its mark. @throws VerlError VERL_DATA_FILE_CORRUPT with the first line that is neither. */
export async function readText(file: string): Promise<string> {
  return decodeText(await readFile(file), file);
}

/** The same of bytes at hand. A byte order mark is no part of the text. @param line that of the first byte, for the error. */
export function decodeText(bytes: Uint8Array, file: string, line = 1): string {
  const wide = utf16Of(bytes);
  try {
    return (wide === undefined ? UTF8 : new TextDecoder(wide, { fatal: true })).decode(bytes);
  } catch (cause) {
    const at = wide === undefined ? line + brokenLine(bytes) : line;
    const encoding = wide === undefined ? "UTF-8" : "UTF-16";
    throw new VerlError("VERL_DATA_FILE_CORRUPT", `Line ${at} is no text in ${encoding}.`, {
      location: { file, line: at },
      cause,
      hint: "Save the file in UTF-8; other encodings would be read as other characters.",
    });
  }
}

/** The encoding that the first two bytes tell, if they do. */
export const utf16Of = ([first, second]: Uint8Array): "utf-16le" | "utf-16be" | undefined =>
  first === 0xff && second === 0xfe ? "utf-16le" : first === 0xfe && second === 0xff ? "utf-16be" : undefined;

/** The first line, from 0, whose bytes are no UTF-8. */
function brokenLine(bytes: Uint8Array): number {
  let line = 0;
  for (let start = 0; start < bytes.length; line += 1) {
    const end = bytes.indexOf(LINE_END, start);
    if (!isUtf8(bytes.subarray(start, end < 0 ? bytes.length : end))) break;
    if (end < 0) break;
    start = end + 1;
  }
  return line;
}
