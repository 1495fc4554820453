import type { Logger } from "../registry/logger.ts";
import { withDeadline } from "../reward/deadline.ts";
import type { AgentSample } from "./agent-loop.ts";

/** Seconds that a loop has to end once it is told to: time to release its tools. */
const GRACE_S = 2;
/** Loops that are named, a run of the loops. */
const SHOWN = 3;

interface Abandoned {
  readonly sample: AgentSample;
  /** Key of the loop. */
  readonly agent: string;
  readonly running: Promise<unknown>;
  /** When its grace is over; milliseconds, by `performance.now`. */
  readonly until: number;
}

/** Loops whose attempts were ended before they were. Nobody waits for their answers, but a run ends behind them where they listen. */
export class AbandonedLoops {
  private readonly still = new Set<Abandoned>();

  add(sample: AgentSample, agent: string, running: Promise<unknown>): void {
    const loop: Abandoned = { sample, agent, running, until: performance.now() + GRACE_S * 1000 };
    this.still.add(loop);
    const gone = (): void => void this.still.delete(loop);
    running.then(gone, gone);
  }

  /** Waits until all have ended or had their grace. @returns how many are left to themselves, which `log` is told */
  async settle(log: Logger): Promise<number> {
    const all = [...this.still];
    const seconds = all.reduce((most, { until }) => Math.max(most, (until - performance.now()) / 1000), 0);
    if (seconds > 0) {
      const ended = Promise.allSettled(all.map(({ running }) => running));
      await withDeadline(seconds, () => ended).catch(() => undefined);
    }
    const { size } = this.still;
    if (size > 0) {
      const names = [...this.still].slice(0, SHOWN).map(({ sample: { uid, sampleIndex }, agent }) => `${agent} for answer ${sampleIndex} of prompt ${uid}`); // prettier-ignore
      const more = size > SHOWN ? ` and ${size - SHOWN} more` : "";
      log.warn(
        `${size} agent loops did not end within ${GRACE_S} s of being told to, and are left to themselves: ${names.join(", ")}${more}. A loop hands ctx.signal on to whatever it waits for.`,
      );
    }
    return size;
  }
}
