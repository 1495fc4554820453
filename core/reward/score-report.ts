import type { Logger } from "../registry/logger.ts";
import type { MetricsSink } from "../registry/metrics-sink.ts";
import type { SampleReward } from "./reward-manager.ts";

/** Failures that are shown in the log of one call, with the answer they belong to. */
const SHOWN = 3;
const EXCERPT = 120;

/** Warns of the answers without a score, and of the first few of them by id, data source, reason and text, a line each. */
export function reportUnscored(
  log: Logger,
  rewards: readonly SampleReward[],
  answers: readonly { readonly uid: string; readonly data_source: string; readonly solution_str: string }[],
): void {
  const failed = rewards.flatMap((reward, row) => ("unscored" in reward ? [{ row, reason: reward.unscored }] : []));
  if (failed.length === 0) return;
  log.warn(`${failed.length} of ${rewards.length} answers have no score.`);
  for (const { row, reason } of failed.slice(0, SHOWN)) {
    const { uid, data_source, solution_str } = answers[row]!;
    log.warn(
      `No score for ${uid} (${data_source}): ${onOneLine(reason)}; its answer: ${JSON.stringify(excerpt(solution_str))}`,
    );
  }
  if (failed.length > SHOWN) log.warn(`No score for ${failed.length - SHOWN} more.`);
}

const onOneLine = (text: string): string => excerpt(text.replace(/\s+/gu, " "), 3 * EXCERPT);

const excerpt = (text: string, length = EXCERPT): string => (text.length > length ? `${text.slice(0, length)}…` : text);

/** Seconds of one call, for `reportTimes`. */
export interface CallTime {
  /** The score function. */
  readonly name: string;
  readonly uid: string;
  readonly seconds: number;
}

/** Metrics `reward/time_s/<function>/p50`, `p95` and `max`; the slowest answer of each function goes to the debug log. */
export function reportTimes(metrics: MetricsSink, log: Logger, times: readonly CallTime[]): void {
  const byName = new Map<string, CallTime[]>();
  for (const time of times) {
    const own = byName.get(time.name);
    if (own === undefined) byName.set(time.name, [time]);
    else own.push(time);
  }
  for (const [name, own] of byName) {
    own.sort((a, b) => a.seconds - b.seconds);
    const at = (share: number): number => own[Math.ceil(share * own.length) - 1]!.seconds;
    metrics.add(`reward/time_s/${name}/p50`, at(0.5));
    metrics.add(`reward/time_s/${name}/p95`, at(0.95));
    metrics.add(`reward/time_s/${name}/max`, at(1));
    log.debug(`The slowest call of ${name} took ${at(1).toFixed(3)} s.`, { uid: own.at(-1)!.uid });
  }
}
