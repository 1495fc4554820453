import { setMaxListeners } from "node:events";
import { VerlError } from "../errors/index.ts";
import { Listener } from "./listener.ts";
import type { Live, LiveBridge } from "./payload.ts";
import type { PackedError } from "./rank-protocol.ts";
import { thrownText } from "./thrown-text.ts";

/**
 * The abort signals and listeners among the arguments of one call to a rank elsewhere: each has a number there. The rank is told of a
 * signal once it fires, and tells what is for a listener.
 */
export class CallLive implements LiveBridge {
  private readonly numbered = new Map<Live, number>();
  private readonly stops = new Map<AbortSignal, () => void>();

  constructor(
    private readonly next: () => number,
    private readonly abort: (number: number, reason: PackedError) => void,
  ) {}

  numberOf(live: Live): number {
    const number = this.numbered.get(live) ?? this.next();
    this.numbered.set(live, number);
    return number;
  }

  signalOf(): never {
    throw new VerlError("VERL_INTERNAL", "A rank sent an abort signal.");
  }

  listenerOf(): never {
    throw new VerlError("VERL_INTERNAL", "A rank sent a listener.");
  }

  /** From the moment on that the call is sent. */
  follow(): void {
    for (const [live, number] of this.numbered) {
      if (live instanceof Listener) continue;
      const abort = (): void => this.abort(number, reasonOf(live));
      if (live.aborted) abort();
      else {
        // One listener a rank is no leak.
        setMaxListeners(Infinity, live);
        live.addEventListener("abort", abort, { once: true });
        this.stops.set(live, abort);
      }
    }
  }

  /** Tells the listener of that number. */
  tell(number: number, value: unknown): void {
    for (const [live, own] of this.numbered) if (own === number && live instanceof Listener) live.tell(value);
  }

  release(): void {
    for (const [signal, stop] of this.stops) signal.removeEventListener("abort", stop);
    this.stops.clear();
  }

  /** Reason of the first signal that has fired. */
  abortReason(): unknown {
    for (const live of this.numbered.keys()) if (live instanceof AbortSignal && live.aborted) return live.reason;
    return undefined;
  }
}

const reasonOf = ({ reason }: AbortSignal): PackedError => ({
  name: "AbortError",
  message: reason instanceof Error ? thrownText(reason) : "The operation was aborted.",
});
