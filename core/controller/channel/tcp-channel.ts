import type { Socket } from "node:net";
import { reasonOf } from "../../errors/reason-of.ts";
import type { ChannelMessage, RankChannel, SentMessage } from "../rank-channel.ts";
import { frame, FrameReader, PEER_LIMITS } from "./frame.ts";

/** How long a closed end waits for what it sent to be taken. */
const LINGER_MS = 3000;

/** The reason of a channel that this end has closed as agreed. */
export const CLOSED = "was closed";

/** Learns why a connection broke off from those who know more, such as the exit code of the process at its other end. */
export type Explain = (reason: string) => Promise<string>;

/** A channel over one TCP or TLS connection. */
export class TcpChannel implements RankChannel {
  /** Address of the other end. */
  readonly peer: string;
  private readonly reader = new FrameReader();
  private readonly kept: ChannelMessage[] = [];
  private messageListener: ((message: ChannelMessage) => void) | undefined;
  private closeListener: ((reason: string) => void) | undefined;
  private lostListener: (() => void) | undefined;
  private open = true;
  /** Set when the reason is final. */
  private closed: string | undefined;
  private draining: Promise<void> | undefined;
  /** Settles when the connection is closed and what was sent is taken, or lost. */
  readonly ended: Promise<void>;
  private explain: Explain = (reason) => Promise.resolve(reason);

  /** @param readsItself the caller has set up `onread`: bytes come by `receive` and `received`. */
  constructor(
    private readonly socket: Socket,
    readsItself = false,
  ) {
    this.peer = socket.remoteAddress ?? "an address unknown";
    socket.setNoDelay(true);
    if (!readsItself) socket.on("data", (bytes: Buffer) => this.receive(bytes));
    this.ended = new Promise((resolve) => socket.once("close", () => resolve()));
    let fault = "";
    socket.on("error", ({ message }) => (fault = ` (${message})`));
    socket.on("end", () => this.brokeOff(fault));
    socket.on("close", () => this.brokeOff(fault));
  }

  /** Bytes that came in; they stay the caller's. */
  receive(bytes: Uint8Array): void {
    this.read(() => this.reader.push(bytes, (message) => this.take(message)));
  }

  /** Where the next bytes may be put instead: at its start, told of by `received`. */
  get room(): Uint8Array | undefined {
    return this.open ? this.reader.room : undefined;
  }

  /** So many bytes have been put in the room. */
  received(bytes: number): void {
    this.read(() => this.reader.wrote(bytes, (message) => this.take(message)));
  }

  private read(work: () => void): void {
    if (!this.open) return;
    try {
      work();
    } catch (error) {
      this.close(`sent what cannot be read: ${reasonOf(error)}`, true);
    }
  }

  /** The other end has shown who it is. */
  trust(explain?: Explain): void {
    this.reader.limits = PEER_LIMITS;
    if (explain) this.explain = explain;
  }

  send(message: SentMessage): Promise<void> {
    if (!this.open) return Promise.resolve();
    const { socket } = this;
    const pieces = frame(message);
    socket.cork();
    let ready = true;
    for (const piece of pieces) ready = socket.write(piece);
    socket.uncork();
    if (ready && !socket.writableNeedDrain) return Promise.resolve();
    this.draining ??= new Promise<void>((resolve) => {
      const done = (): void => {
        socket.off("drain", done).off("close", done);
        this.draining = undefined;
        resolve();
      };
      socket.on("drain", done).on("close", done);
    });
    return this.draining;
  }

  onMessage(listener: (message: ChannelMessage) => void): void {
    this.messageListener = listener;
    // A listener may leave the rest to the next.
    for (let next; this.messageListener === listener && (next = this.kept.shift());) listener(next);
  }

  /** Whoever listens next gets what comes from here on. */
  pass(): void {
    this.messageListener = undefined;
  }

  onClose(listener: (reason: string) => void): void {
    this.closeListener = listener;
    if (this.closed !== undefined) listener(this.closed);
  }

  /** Why it is closed, once that is known. */
  get reason(): string | undefined {
    return this.closed;
  }

  /** Tells that the connection is gone, at once: `onClose` may wait for the reason. */
  onLost(listener: () => void): void {
    this.lostListener = listener;
    if (!this.open) listener();
  }

  /** @param atOnce what was sent before need not arrive. */
  close(reason = CLOSED, atOnce = false): void {
    if (!this.open) return;
    this.open = false;
    this.lostListener?.();
    if (atOnce) this.socket.destroy();
    else {
      this.socket.end();
      setTimeout(() => this.socket.destroy(), LINGER_MS).unref();
    }
    this.settle(reason);
  }

  private take(message: ChannelMessage): void {
    if (this.messageListener) this.messageListener(message);
    else this.kept.push(message);
  }

  private brokeOff(fault: string): void {
    if (!this.open) return;
    this.open = false;
    this.socket.destroy();
    this.lostListener?.();
    const where = this.reader.idle ? "" : " in the middle of a message";
    this.explain(`lost its connection${where}${fault}`).then(
      (reason) => this.settle(reason),
      (error: unknown) => this.settle(String(error)),
    );
  }

  private settle(reason: string): void {
    if (this.closed !== undefined) return;
    this.closed = reason;
    this.closeListener?.(reason);
  }
}
