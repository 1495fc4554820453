/** Bytes that go out: in one place, or in pieces, which the receiver gets as one. */
export type Lent = Uint8Array | readonly Uint8Array[];

/** One message that goes out. */
export interface SentMessage {
  readonly head: ChannelMessage["head"];
  /** As the receiver's blobs. They may be views of memory that is somebody's, and start anywhere. */
  readonly blobs: readonly Lent[];
  /** What it is, for the error where it is too large: `the arguments of actor.update`. Default: a message. */
  readonly what?: string;
}

/** One message between the controller and a rank, as it arrives. */
export interface ChannelMessage {
  /** Plain JSON data: what `JSON.parse(JSON.stringify(head))` gives back unchanged. A channel may carry it as JSON text or cloned. */
  readonly head: Readonly<Record<string, unknown>>;
  /** The bytes that the head speaks of by number (`DataProto.toArrow()` streams, typed arrays). Each starts on a multiple of 8. */
  readonly blobs: readonly Uint8Array[];
}

/**
 * An ordered, reliable road for messages in both directions, between two threads, processes or machines. Everything that is said over
 * it is the protocol's business (`protocol.ts`); a channel only carries.
 *
 * What an implementation owes:
 * - messages arrive whole, once and in the order in which they were sent, or not at all, and then the channel is closed;
 * - a message that arrives damaged, or larger than the channel's limit, closes the channel with a reason; it is never handed on;
 * - messages that arrive before `onMessage` was called are kept for it;
 * - an open channel keeps the process alive.
 */
export interface RankChannel {
  /**
   * Sends a message. The memory of `blobs` is lent: it is only read, and nobody changes it before the message has arrived.
   * @throws VERL_WORKER_PAYLOAD at once for a message over the channel's limit, of which nothing is sent.
   * @returns settles when the channel is ready for more (back-pressure). Never rejects: a lost channel tells by `onClose`.
   */
  send(message: SentMessage): Promise<void>;
  /** Takes the messages that arrive. Called once. */
  onMessage(listener: (message: ChannelMessage) => void): void;
  /**
   * Tells once that nothing will arrive any more, after the last message was handed on.
   * @param listener gets the reason in words that complete "the rank …": `exited with code 3`, `did not answer for 10 s`. Called at
   *   once when the channel is closed already.
   */
  onClose(listener: (reason: string) => void): void;
  /** Closes this end; what was sent before is still delivered where the other end lives. Again: does nothing. */
  close(reason?: string): void;
}
