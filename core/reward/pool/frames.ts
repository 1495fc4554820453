import { deserialize, serialize } from "node:v8";

/** Bytes of a frame's length. */
const HEAD = 4;

/** A value as V8 clones it, behind its length. @throws DataCloneError for what cannot be cloned, such as a function. */
export function toFrame(value: unknown): Buffer {
  const body = serialize(value);
  const frame = Buffer.allocUnsafe(HEAD + body.length);
  frame.writeUInt32LE(body.length);
  body.copy(frame, HEAD);
  return frame;
}

/** Puts a stream's chunks together to the values that were sent. */
export class FrameReader {
  private chunks: Buffer[] = [];
  private held = 0;

  constructor(private readonly take: (value: unknown) => void) {}

  push(chunk: Buffer): void {
    this.chunks.push(chunk);
    this.held += chunk.length;
    if (this.held < this.wanted()) return;
    const bytes = this.chunks.length === 1 ? this.chunks[0]! : Buffer.concat(this.chunks);
    let at = 0;
    while (bytes.length - at >= HEAD) {
      const end = at + HEAD + bytes.readUInt32LE(at);
      if (end > bytes.length) break;
      this.take(deserialize(bytes.subarray(at + HEAD, end)));
      at = end;
    }
    this.chunks = at === bytes.length ? [] : [bytes.subarray(at)];
    this.held = bytes.length - at;
  }

  /** Bytes that the first frame has, as far as is known. A large one is not put together before it is all there. */
  private wanted(): number {
    const [first] = this.chunks;
    return first === undefined || first.length < HEAD ? HEAD : HEAD + first.readUInt32LE(0);
  }
}
