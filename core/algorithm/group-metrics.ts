import type { AdvantageContext } from "./advantage-estimator.ts";
import type { Groups, GroupStatistics } from "./groups.ts";

/** Metrics of every estimator that compares the rows of a group; for its `metrics`. */
export const GROUP_METRICS = {
  "advantage/singleton_groups": "Share of groups with one scored row; they keep the raw score.",
  "advantage/equal_groups": "Share of groups whose scores are all equal; they teach nothing.",
} as const;

/** Reports `GROUP_METRICS`. */
export function reportGroups({ sizes }: Groups, { std }: GroupStatistics, ctx: AdvantageContext): void {
  const share = (test: (size: number, group: number) => boolean): number =>
    sizes.filter(test).length / Math.max(sizes.length, 1);
  ctx.metric(
    "advantage/singleton_groups",
    share((size) => size === 1),
  );
  ctx.metric(
    "advantage/equal_groups",
    share((size, group) => size > 1 && std[group] === 0),
  );
}
