import { readMessage } from "./large-integers.ts";
import { MessageBytes } from "./message-bytes.ts";

const NEWLINE = 0x0a;

/**
 * Reads the messages of a server's standard output, one a line, in place of the client's own buffer: that one closes the connection,
 * which all samples share, when a message is too long, and rounds large integers.
 */
export class MessageLines {
  private readonly line = new MessageBytes();
  private lines: string[] = [];

  append(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      this.line.add(chunk.subarray(start, end));
      this.lines.push(this.line.take());
      start = end + 1;
    }
    if (start < chunk.length) this.line.add(chunk.subarray(start));
  }

  /** The next message; null where no line is left. @throws SyntaxError for a line that is none; the next call goes on behind it */
  readMessage(): unknown {
    for (;;) {
      const line = this.lines.shift();
      if (line === undefined) return null;
      const message = line.trim() === "" ? null : readMessage(line);
      if (message !== null) return message;
    }
  }

  clear(): void {
    this.line.take();
    this.lines = [];
  }
}
