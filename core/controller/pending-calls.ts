import type { CallLive } from "./call-live.ts";
import type { GroupCall } from "./group-call.ts";

export interface PendingCall {
  readonly method: string;
  /** The group's call that it is a part of. */
  readonly whole: GroupCall;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly live: CallLive;
}

/** The calls of one rank that are under way, by number. */
export class PendingCalls {
  private readonly calls = new Map<number, PendingCall>();
  private next = 0;

  /** @returns its number */
  add(call: PendingCall): number {
    const id = this.next++;
    this.calls.set(id, call);
    return id;
  }

  /** Ends a call, which fails where `how` throws. One that has ended: nothing. */
  settle(id: number, how: (call: PendingCall) => void): void {
    const call = this.calls.get(id);
    if (!call) return;
    this.calls.delete(id);
    call.live.release();
    try {
      how(call);
    } catch (error) {
      call.reject(error);
    }
  }

  /** Passes on what a call tells its caller. A listener that fails ends the call; the rank is not to blame. */
  tell(id: number, listener: number, value: unknown): void {
    try {
      this.calls.get(id)?.live.tell(listener, value);
    } catch (error) {
      this.settle(id, (call) => call.reject(error));
    }
  }

  failAll(error: (method: string) => Error): void {
    for (const [id, { method }] of [...this.calls]) this.settle(id, (call) => call.reject(error(method)));
  }
}
