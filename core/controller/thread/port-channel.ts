import { copyOf } from "../payload.ts";
import type { ChannelMessage, RankChannel, SentMessage } from "../rank-channel.ts";

/** What a `MessagePort` and a thread have in common. */
export interface ThreadPort {
  postMessage(message: unknown, transfer: readonly ArrayBuffer[]): void;
  on(event: string, listener: (value: unknown) => void): unknown;
  close(): void;
}

/** A channel between two threads: heads are cloned, blobs are copied once, and the copies moved. */
export class PortChannel implements RankChannel {
  private closeListener: ((reason: string) => void) | undefined;
  private closed: string | undefined;

  constructor(private readonly port: ThreadPort) {
    port.on("messageerror", (error) => this.close(`received a message that cannot be read: ${String(error)}`));
    port.on("close", () => this.lost("closed its channel"));
  }

  send({ head, blobs: lent }: SentMessage): Promise<void> {
    if (this.closed !== undefined) return Promise.resolve();
    const blobs = lent.map(copyOf);
    const moved = blobs.map(({ buffer }) => buffer as ArrayBuffer);
    this.port.postMessage({ head, blobs }, moved);
    return Promise.resolve();
  }

  onMessage(listener: (message: ChannelMessage) => void): void {
    this.port.on("message", (message) => listener(message as ChannelMessage));
  }

  onClose(listener: (reason: string) => void): void {
    this.closeListener = listener;
    if (this.closed !== undefined) listener(this.closed);
  }

  close(reason = "was closed"): void {
    this.port.close();
    this.lost(reason);
  }

  /** The other end is gone; the first reason counts. */
  lost(reason: string): void {
    if (this.closed !== undefined) return;
    this.closed = reason;
    this.closeListener?.(reason);
  }
}
