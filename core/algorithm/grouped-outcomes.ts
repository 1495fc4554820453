import type { AdvantageContext, AdvantageInput, AdvantageOutput } from "./advantage-estimator.ts";
import { reportGroups } from "./group-metrics.ts";
import { groupRows, groupStatistics, type Groups, type GroupStatistics } from "./groups.ts";
import { outcomes, spreadOverTokens, type Outcomes } from "./outcome.ts";

/** A batch as outcome estimators see it: scores, and the groups of those rows that have one. */
export interface GroupedOutcomes extends Outcomes {
  readonly groups: Groups;
  readonly statistics: GroupStatistics;
}

/** Scores and groups of a batch; reports how many groups teach nothing. */
export function groupedOutcomes(input: AdvantageInput, ctx: AdvantageContext): GroupedOutcomes {
  const result = outcomes(input);
  const groups = groupRows(input.uid, result.counted);
  const statistics = groupStatistics(result.scores, groups);
  reportGroups(groups, statistics, ctx);
  return { ...result, groups, statistics };
}

/** The score of each row less a baseline of its group. Rows that take no part get 0. @param baseline one number a group. */
export function lessGroupBaseline({ scores, groups }: GroupedOutcomes, baseline: ArrayLike<number>): Float64Array {
  return Float64Array.from(scores, (score, row) => {
    const group = groups.of[row]!;
    return group < 0 ? 0 : score - baseline[group]!;
  });
}

/** The mean of each group, and 0 for groups of one, which keep their raw score. */
export function comparedMeans({ groups, statistics }: Pick<GroupedOutcomes, "groups" | "statistics">): Float64Array {
  return statistics.mean.map((mean, group) => (groups.sizes[group] === 1 ? 0 : mean));
}

/** Outcome advantages: one value a row on each of its tokens, as advantage and as return. */
export function outcomeAdvantages(
  values: ArrayLike<number>,
  { response_mask }: AdvantageInput,
  { runs }: Pick<Outcomes, "runs">,
): AdvantageOutput {
  const advantages = spreadOverTokens(values, response_mask, runs);
  return { advantages, returns: advantages };
}
