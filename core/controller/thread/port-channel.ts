import type { ChannelMessage, RankChannel } from "../rank-channel.ts";

/** What a `MessagePort` and a thread have in common. */
export interface ThreadPort {
  postMessage(message: unknown, transfer: readonly ArrayBuffer[]): void;
  on(event: string, listener: (value: unknown) => void): unknown;
  close(): void;
}

/** A channel between two threads: heads are cloned, blobs are moved. */
export class PortChannel implements RankChannel {
  private closeListener: ((reason: string) => void) | undefined;
  private closed: string | undefined;

  constructor(private readonly port: ThreadPort) {
    port.on("messageerror", (error) => this.close(`received a message that cannot be read: ${String(error)}`));
    port.on("close", () => this.lost("closed its channel"));
  }

  send({ head, blobs }: ChannelMessage): Promise<void> {
    if (this.closed === undefined) this.port.postMessage({ head, blobs }, movable(blobs));
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

/** The memory of blobs that is all theirs; what lies in a pool that others share is copied by `postMessage`. */
function movable(blobs: readonly Uint8Array[]): ArrayBuffer[] {
  const whole = blobs.filter(
    ({ buffer, byteLength }) => buffer instanceof ArrayBuffer && buffer.byteLength === byteLength,
  );
  return [...new Set(whole.map(({ buffer }) => buffer as ArrayBuffer))];
}
