import { VerlError } from "../errors/index.ts";
import type { SignalBridge } from "./payload.ts";
import type { PackedError } from "./rank-protocol.ts";

/** The abort signals among the arguments of one call to a rank elsewhere: each has a number there, and is told of once it fires. */
export class CallSignals implements SignalBridge {
  private readonly numbered = new Map<AbortSignal, number>();
  private readonly listeners = new Map<AbortSignal, () => void>();

  constructor(
    private readonly next: () => number,
    private readonly tell: (number: number, reason: PackedError) => void,
  ) {}

  numberOf(signal: AbortSignal): number {
    const number = this.numbered.get(signal) ?? this.next();
    this.numbered.set(signal, number);
    return number;
  }

  signalOf(): never {
    throw new VerlError("VERL_INTERNAL", "A rank sent an abort signal.");
  }

  /** From the moment on that the call is sent. */
  follow(): void {
    for (const [signal, number] of this.numbered) {
      const tell = (): void => this.tell(number, reasonOf(signal));
      if (signal.aborted) tell();
      else {
        signal.addEventListener("abort", tell, { once: true });
        this.listeners.set(signal, tell);
      }
    }
  }

  release(): void {
    for (const [signal, listener] of this.listeners) signal.removeEventListener("abort", listener);
    this.listeners.clear();
  }

  /** Reason of the first that has fired. */
  abortReason(): unknown {
    return [...this.numbered.keys()].find((signal) => signal.aborted)?.reason;
  }
}

const reasonOf = ({ reason }: AbortSignal): PackedError => ({
  name: "AbortError",
  message: reason instanceof Error ? reason.message : "The operation was aborted.",
});
