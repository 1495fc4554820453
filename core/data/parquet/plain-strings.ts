import { Buffer, isAscii } from "node:buffer";

/**
 * Strings of a plain page, each with its length in four bytes before it. Where all of them are ASCII, which is most pages, they are cut
 * from one long string: several times as fast as decoding each, and without an array of bytes for each.
 * @param bytes the page; its lengths are overwritten.
 * @throws RangeError when the page ends too soon.
 */
export function readPlainStrings(bytes: Uint8Array, count: number): string[] {
  const page = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const starts = new Uint32Array(count);
  const ends = new Uint32Array(count);
  let at = 0;
  for (let i = 0; i < count; i += 1) {
    const length = page.readUInt32LE(at);
    // A length may look like a byte beyond ASCII; it has been read.
    page.writeUInt32LE(0, at);
    at += 4;
    starts[i] = at;
    at += length;
    if (at > page.length) throw new RangeError("a page of strings ends too soon");
    ends[i] = at;
  }
  const text = page.subarray(0, at);
  const ascii = isAscii(text);
  const whole = ascii ? text.toString("latin1") : "";
  const strings = new Array<string>(count);
  for (let i = 0; i < count; i += 1)
    strings[i] = ascii ? whole.slice(starts[i], ends[i]) : text.toString("utf8", starts[i], ends[i]);
  return strings;
}
