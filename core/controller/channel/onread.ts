import type { OnReadOpts } from "node:net";
import type { TcpChannel } from "./tcp-channel.ts";

/** Reused for all reads but those of large payloads. */
const READ_BYTES = 256 * 1024;

/**
 * How a socket reads for a channel: payloads straight to where they stay, all else through one buffer. Streams would make a new
 * buffer for each read, and touching new memory costs more than the bytes in it.
 */
export class ReadInPlace {
  private readonly common = Buffer.allocUnsafeSlow(READ_BYTES);
  private room: Uint8Array | undefined;
  private channel: TcpChannel | undefined;

  /** For the socket's options. */
  readonly onread: OnReadOpts = {
    // Asked before each read.
    buffer: () => (this.room = this.channel?.room) ?? this.common,
    callback: (bytes) => {
      if (this.room) this.channel?.received(bytes);
      else this.channel?.receive(this.common.subarray(0, bytes));
      return true;
    },
  };

  /** Nothing arrives before it is known: the other end waits to be spoken to, or has to be greeted first. */
  feed(channel: TcpChannel): TcpChannel {
    return (this.channel = channel);
  }
}
