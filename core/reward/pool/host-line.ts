import { setMaxListeners } from "node:events";
import { DeadlineError } from "../deadline.ts";
import { openLane, type Isolation, type Lane, type LaneEnd } from "./lane.ts";
import type { FromHost, ToHost } from "./messages.ts";

/** A message never came to its turn: its host ended with one before it. */
export const NOT_BEGUN = "not begun";

/** A message that cannot be handed to a host; the host knows nothing of it. */
export class CannotPost extends Error {}

export type Answer = FromHost | LaneEnd | typeof NOT_BEGUN;

export interface AskOptions {
  /** That the host has from the message's turn on. */
  seconds: number;
  signal?: AbortSignal;
}

interface Pending {
  /** It is the message's turn. */
  begin(): void;
  settle(answer: Answer): void;
}

/**
 * A host and what it has been asked: one message is under way, others wait there in order, so that the host need not wait for this thread
 * between two.
 */
export class HostLine {
  private readonly lane: Lane;
  private readonly pending: Pending[] = [];

  /** @param lost called when the host ends by itself. */
  constructor(isolation: Isolation, memoryLimitMb: number, lost: (line: HostLine) => void) {
    this.lane = openLane(isolation, memoryLimitMb, {
      message: (message) => {
        this.pending.shift()?.settle(message);
        this.pending[0]?.begin();
      },
      end: (why) => {
        lost(this);
        this.pending.shift()?.settle(why);
        this.giveUp();
      },
    });
  }

  /** Messages that are not answered. */
  get load(): number {
    return this.pending.length;
  }

  /**
   * Posts a message and waits for the answer, or for the host's end.
   * @throws CannotPost; DeadlineError or the reason of the signal, when the host may still be at work and is of no use any more.
   */
  ask(message: ToHost, { seconds, signal }: AskOptions): Promise<Answer> {
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      const settle = (act: () => void): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
        const at = this.pending.indexOf(pending);
        if (at >= 0) this.pending.splice(at, 1);
        act();
      };
      const abort = (): void => settle(() => reject(signal!.reason as Error));
      const late = (): void => settle(() => reject(new DeadlineError(`no answer in ${seconds} s`)));
      const pending: Pending = {
        begin: () => {
          // Where this thread was busy, the answer may be here already: what has arrived is read before the host is given up.
          timer = setTimeout(() => {
            setImmediate(() => setImmediate(() => this.pending.includes(pending) && late()));
          }, seconds * 1000);
        },
        settle: (answer) => settle(() => resolve(answer)),
      };
      this.pending.push(pending);
      if (signal !== undefined) {
        setMaxListeners(0, signal);
        if (signal.aborted) return abort();
        signal.addEventListener("abort", abort, { once: true });
      }
      try {
        this.lane.post(message);
      } catch (error) {
        const what = `the sample cannot be handed on: ${(error as Error).message}`;
        return settle(() => reject(new CannotPost(what)));
      }
      if (this.pending[0] === pending) pending.begin();
    });
  }

  /** Ends the host, whatever it does. */
  async kill(): Promise<void> {
    this.giveUp();
    await this.lane.kill();
  }

  private giveUp(): void {
    for (const pending of this.pending.splice(0)) pending.settle(NOT_BEGUN);
  }
}
