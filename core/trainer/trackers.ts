import type { Logger } from "../registry/logger.ts";
import { reasonOf } from "../errors/reason-of.ts";
import type { RunContainer } from "../registry/run-container.ts";
import { endsInGrace, LEFT } from "./ends-in-grace.ts";
import type { Tracker } from "./tracker.ts";

/** The run's own record, which the report and `verl report` read; every run has it. */
const RECORD = "file";

/**
 * All trackers of a run as one. A tracker that fails is named in a warning, once, and does not stop the run. So is a metric that is not
 * finite, of which a chart shows no more than a gap. Once the run is asked to stop, one that hangs is left to itself after 10 s,
 * which all share, and hears of nothing more.
 */
export class Trackers implements Tracker {
  readonly #trackers: Map<string, Tracker>;
  readonly #logger: Pick<Logger, "warnOnce">;
  readonly #stop: AbortSignal;

  /** @param stop asks the run to stop. Default: nothing does, and each tracker is waited for. */
  constructor(
    trackers: Iterable<readonly [string, Tracker]>,
    logger: Pick<Logger, "warnOnce">,
    stop: AbortSignal = new AbortController().signal,
  ) {
    this.#trackers = new Map(trackers);
    this.#logger = logger;
    this.#stop = stop;
  }

  /** The trackers of `trainer.logger`, and `file` in any case. */
  static create(
    keys: readonly string[],
    container: Pick<RunContainer, "create">,
    logger: Logger,
    stop?: AbortSignal,
  ): Trackers {
    const all = new Set([...keys, RECORD]);
    return new Trackers(
      [...all].map((key) => [key, container.create("tracker", key)] as const),
      logger,
      stop,
    );
  }

  async log(metrics: Readonly<Record<string, number>>, step: number): Promise<void> {
    for (const [name, value] of Object.entries(metrics)) {
      if (Number.isFinite(value)) continue;
      const message = `The metric "${name}" is ${value} at step ${step}, not a finite number. Trackers get it as it is; JSON writes null.`;
      this.#logger.warnOnce(`metric/${name}`, message);
    }
    await this.#each((tracker) => tracker.log(metrics, step));
  }

  async resume(step: number): Promise<void> {
    await this.#each((tracker) => tracker.resume?.(step));
  }

  async close(): Promise<void> {
    await this.#each((tracker) => tracker.close?.());
  }

  async #each(call: (tracker: Tracker) => void | Promise<void>): Promise<void> {
    for (const [key, tracker] of this.#trackers) {
      try {
        if (await endsInGrace(this.#stop, () => call(tracker))) continue;
        this.#trackers.delete(key);
        this.#logger.warnOnce(`tracker/${key}/left`, `The tracker "${key}" ${LEFT}.`);
      } catch (error) {
        const reason = reasonOf(error);
        this.#logger.warnOnce(
          `tracker/${key}`,
          `The tracker "${key}" failed: ${reason}. The run goes on without its record.`,
        );
      }
    }
  }
}
