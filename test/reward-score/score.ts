import type { RewardScore } from "../../core/reward/reward-manager.ts";

/** What a score function says of one answer. */
export async function scored(
  entry: RewardScore,
  solution_str: string,
  ground_truth: unknown,
  options: Record<string, unknown> = {},
): Promise<Record<string, unknown> & { score: number }> {
  const result = await entry.score({ data_source: "test", solution_str, ground_truth, extra_info: {}, ...options });
  if (typeof result !== "object") throw new Error(`${result} tells no reasons`);
  return result;
}

export const STRICT = { mode: "strict" };
