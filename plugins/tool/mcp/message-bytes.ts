/** Bytes of one message at most, as of the answers of other services. */
export const MOST_BYTES = 16 * 2 ** 20;

/** Why a call has no result whose answer is longer. */
export const TOO_LONG = `the answer has more than ${MOST_BYTES} bytes`;

/** JSON-RPC's code for what a server does that no other code says. */
const SERVER_ERROR = -32000;

/** The text of an answer that fails a call. */
export const failedAnswer = (id: unknown, message: string): string =>
  JSON.stringify({ jsonrpc: "2.0", id, error: { code: SERVER_ERROR, message } });

/** Gathers the bytes of one message; of one that is too long, only what tells whose answer it is. */
export class MessageBytes {
  private pieces: Buffer[] = [];
  private length = 0;
  private outline: Outline | undefined;

  /** @param prefix What stands before a message. */
  constructor(private readonly prefix = "") {}

  add(piece: Buffer): void {
    this.length += piece.length;
    this.pieces.push(piece);
    if (this.length <= MOST_BYTES) return;
    this.outline ??= new Outline();
    for (const long of this.pieces.splice(0)) this.outline.add(long);
  }

  /** Ends the message. @returns its text; of one that is too long, an answer that fails its call, or nothing where it answers none */
  take(): string {
    const { pieces, outline } = this;
    this.pieces = [];
    this.length = 0;
    this.outline = undefined;
    if (outline === undefined) return Buffer.concat(pieces).toString();
    const id = outline.answeredId();
    return id === undefined ? "" : `${this.prefix}${failedAnswer(id, TOO_LONG)}`;
  }
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const OPENING = new Set([0x5b, 0x7b]);
const CLOSING = new Set([0x5d, 0x7d]);
/** Characters of an outline at most: that of an answer has a few dozen. */
const MOST_OUTLINE = 1000;

/** A message without what lies deeper than its own fields. */
class Outline {
  private text = "";
  private depth = 0;
  private quoted = false;
  private escaped = false;

  add(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at]!;
      const deep = this.depth > 1;
      if (this.escaped) this.escaped = false;
      else if (this.quoted) {
        this.escaped = byte === BACKSLASH;
        this.quoted = byte !== QUOTE;
      } else if (byte === QUOTE) this.quoted = true;
      else if (OPENING.has(byte)) this.depth += 1;
      else if (CLOSING.has(byte)) this.depth -= 1;
      if (!(deep && this.depth > 1) && this.text.length < MOST_OUTLINE) this.text += String.fromCharCode(byte);
    }
  }

  /** The id of the request that it answers. */
  answeredId(): unknown {
    try {
      const { id, result, error } = JSON.parse(this.text.slice(this.text.indexOf("{"))) as Record<string, unknown>;
      return result === undefined && error === undefined ? undefined : id;
    } catch {
      return undefined;
    }
  }
}
