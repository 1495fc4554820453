import type { Logger, MetricsSink } from "../registry/index.ts";
import type { RankCall } from "./call-failure.ts";
import { kindOf } from "./kind-of.ts";
import { thrownText } from "./thrown-text.ts";

/**
 * Where a rank reports its metrics to: what is no number under a name, or is not taken, is left out with a warning, once a name, and
 * fails no call.
 */
export function steadyMetrics(
  metrics: MetricsSink,
  log: Logger,
  { group, rank }: Pick<RankCall, "group" | "rank">,
): MetricsSink {
  const who = `Rank ${rank} of ${group} reports`;
  const leftOut = (name: string, what: string): void => log.warnOnce(`metric ${rank} ${group} ${name}`, what);
  return {
    add(name: unknown, value: unknown) {
      if (typeof name !== "string") {
        return leftOut("", `${who} a metric under ${kindOf(name)} in place of a name, which is left out.`);
      }
      if (typeof value !== "number") {
        return leftOut(name, `${who} ${kindOf(value)} as the metric "${name}", which is left out.`);
      }
      try {
        metrics.add(name, value);
      } catch (error) {
        leftOut(name, `${who} the metric "${name}", which is left out: ${thrownText(error)}`);
      }
    },
  };
}
