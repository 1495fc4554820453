import { Buffer, isAscii } from "node:buffer";

/**
 * Strings of a plain page, each with its length in four bytes before it. Where all of them are ASCII, which is most pages, they are cut
 * from one long string: several times as fast as decoding each, and without an array of bytes for each.
 * @throws RangeError when the page ends too soon.
 */
export function readPlainStrings(bytes: Uint8Array, count: number): string[] {
  const page = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const ends = new Uint32Array(count);
  const text = Buffer.allocUnsafe(Math.max(0, page.length - 4 * count));
  let at = 0;
  let end = 0;
  for (let i = 0; i < count; i += 1) {
    const length = page.readUInt32LE(at);
    at += 4;
    if (at + length > page.length) throw new RangeError("a page of strings ends too soon");
    page.copy(text, end, at, at + length);
    at += length;
    end += length;
    ends[i] = end;
  }
  const strings = new Array<string>(count);
  const ascii = isAscii(text.subarray(0, end));
  const whole = ascii ? text.toString("latin1", 0, end) : "";
  let start = 0;
  for (let i = 0; i < count; i += 1) {
    strings[i] = ascii ? whole.slice(start, ends[i]) : text.toString("utf8", start, ends[i]);
    start = ends[i]!;
  }
  return strings;
}
