import { VerlError } from "../../errors/index.ts";
import type { ChannelMessage, Lent, SentMessage } from "../rank-channel.ts";

/*
 * A message on the wire, numbers little-endian:
 *   u32 MAGIC, u32 bytes of the head, u32 number of blobs, u64 bytes of each blob, head (JSON, UTF-8), blobs.
 */

const MAGIC = 0x6c726576;
const FIXED_BYTES = 12;
const MAX_BLOBS = 1 << 16;

export interface FrameLimits {
  /** Bytes of a head. */
  readonly head: number;
  /** Bytes of all blobs of one message. */
  readonly blobs: number;
}

/** What a peer may send before it has shown who it is. */
const STRANGER_LIMITS: FrameLimits = { head: 4096, blobs: 0 };
/** What a peer may send: a message is held in memory as a whole. */
export const PEER_LIMITS: FrameLimits = { head: 1 << 28, blobs: 2 ** 34 };

/** Fewer bytes are sooner copied together than written, or read, by themselves. */
const SMALL = 16 * 1024;

/**
 * A message as the pieces to write one after the other; none of the large ones is copied.
 * @throws VERL_WORKER_PAYLOAD for one that its receiver would not take
 */
export function frame(message: SentMessage): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  let small: Uint8Array[] = [frameHead(message)];
  const flush = (): void => {
    if (small.length > 0) pieces.push(small.length === 1 ? small[0]! : Buffer.concat(small));
    small = [];
  };
  for (const piece of message.blobs.flat()) {
    if (piece.byteLength < SMALL) small.push(piece);
    else {
      flush();
      pieces.push(piece);
    }
  }
  flush();
  return pieces;
}

/** Everything of a message but its blobs. */
function frameHead({ head, blobs, what = "a message" }: SentMessage): Buffer {
  const text = headText(head, what);
  const lengths = blobs.length * 8;
  const bytes = Buffer.byteLength(text);
  if (bytes > PEER_LIMITS.head) throw tooLarge(what, `${bytes} bytes of JSON`, `${PEER_LIMITS.head} bytes`);
  if (blobs.length > MAX_BLOBS) throw tooLarge(what, `${blobs.length} arrays and batches`, `${MAX_BLOBS} of them`);
  const payload = blobs.reduce((sum, blob) => sum + bytesIn(blob), 0);
  if (payload > PEER_LIMITS.blobs) throw tooLarge(what, `${payload} bytes of arrays`, `${PEER_LIMITS.blobs} bytes`);
  const frame = Buffer.allocUnsafe(FIXED_BYTES + lengths + bytes);
  frame.writeUInt32LE(MAGIC, 0);
  frame.writeUInt32LE(bytes, 4);
  frame.writeUInt32LE(blobs.length, 8);
  blobs.forEach((blob, index) => frame.writeBigUInt64LE(BigInt(bytesIn(blob)), FIXED_BYTES + index * 8));
  frame.write(text, FIXED_BYTES + lengths);
  return frame;
}

/** The longest text that there can be is longer than a head may be. */
function headText(head: SentMessage["head"], what: string): string {
  try {
    return JSON.stringify(head);
  } catch (error) {
    if (error instanceof RangeError && error.message.includes("string length")) {
      throw tooLarge(what, "more JSON than a text can hold", `${PEER_LIMITS.head} bytes`);
    }
    throw error;
  }
}

const tooLarge = (what: string, holds: string, limit: string): VerlError =>
  new VerlError(
    "VERL_WORKER_PAYLOAD",
    `${what[0]!.toUpperCase()}${what.slice(1)} cannot be sent: it would be ${holds}, and the limit of a message is ${limit}.`,
    {
      hint: "Give large data as typed arrays, NdArrays or a DataProto, which are not turned to JSON, and in several calls.",
    },
  );

const bytesIn = (lent: Lent): number =>
  lent instanceof Uint8Array ? lent.byteLength : lent.reduce((sum, { byteLength }) => sum + byteLength, 0);

type Section = "fixed" | "lengths" | "head" | "blob";

/** Puts messages together from the pieces in which they arrive. */
export class FrameReader {
  limits: FrameLimits = STRANGER_LIMITS;
  private section: Section = "fixed";
  private target: Uint8Array = new Uint8Array(FIXED_BYTES);
  private filled = 0;
  private headBytes = 0;
  private lengths: number[] = [];
  private head: ChannelMessage["head"] = {};
  private blobs: Uint8Array[] = [];

  /** True between two messages. */
  get idle(): boolean {
    return this.section === "fixed" && this.filled === 0;
  }

  /**
   * Takes the next bytes, which stay the caller's.
   * @param deliver gets each message that is whole with them. @throws what is wrong with the bytes, in words
   */
  push(bytes: Uint8Array, deliver: (message: ChannelMessage) => void): void {
    for (let at = 0; at < bytes.byteLength;) {
      const part = bytes.subarray(at, at + this.target.byteLength - this.filled);
      this.target.set(part, this.filled);
      at += part.byteLength;
      this.wrote(part.byteLength, deliver);
    }
  }

  /** Memory for the next bytes, where they are many of a payload: who can puts them there, at its start, and says so by `wrote`. */
  get room(): Uint8Array | undefined {
    const left = this.target.byteLength - this.filled;
    return this.section === "blob" && left >= SMALL ? this.target.subarray(this.filled) : undefined;
  }

  /** So many bytes are in the room. Otherwise as `push`. */
  wrote(bytes: number, deliver: (message: ChannelMessage) => void): void {
    this.filled += bytes;
    while (this.filled === this.target.byteLength) {
      const message = this.advance();
      if (message) deliver(message);
    }
  }

  /** A section is complete: says what comes next. */
  private advance(): ChannelMessage | undefined {
    const done = Buffer.from(this.target.buffer, this.target.byteOffset, this.target.byteLength);
    switch (this.section) {
      case "fixed": {
        this.headBytes = done.readUInt32LE(4);
        const count = done.readUInt32LE(8);
        if (done.readUInt32LE(0) !== MAGIC) throw new Error("its bytes are no message of this protocol");
        if (this.headBytes > this.limits.head || count > MAX_BLOBS || (count > 0 && this.limits.blobs === 0)) {
          throw new Error(`its head of ${this.headBytes} bytes with ${count} payloads is over the limit`);
        }
        this.expect("lengths", new Uint8Array(count * 8));
        return undefined;
      }
      case "lengths": {
        this.lengths = Array.from({ length: done.byteLength / 8 }, (_, i) => Number(done.readBigUInt64LE(i * 8)));
        const bytes = this.lengths.reduce((sum, length) => sum + length, 0);
        if (bytes > this.limits.blobs) throw new Error(`its payload of ${bytes} bytes is over the limit`);
        this.expect("head", new Uint8Array(this.headBytes));
        return undefined;
      }
      case "head": {
        const head: unknown = JSON.parse(done.toString());
        if (typeof head !== "object" || head === null) throw new Error("its head is no object");
        this.head = head as ChannelMessage["head"];
        break;
      }
      case "blob":
        this.blobs.push(this.target);
    }
    if (this.blobs.length < this.lengths.length) {
      // Not filled with zeros, and never a part of a pool that others use, since its receiver owns all of it.
      this.expect("blob", Buffer.allocUnsafeSlow(this.lengths[this.blobs.length]!));
      return undefined;
    }
    const message = { head: this.head, blobs: this.blobs };
    this.blobs = [];
    this.expect("fixed", new Uint8Array(FIXED_BYTES));
    return message;
  }

  private expect(section: Section, target: Uint8Array): void {
    this.section = section;
    this.target = target;
    this.filled = 0;
  }
}
