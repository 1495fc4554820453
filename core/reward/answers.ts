import type { DataProto } from "../batch/data-proto.ts";
import type { Tokenizer } from "../data/tokenizer.ts";
import type { ScoreInput } from "./reward-manager.ts";
import { responseLengths } from "./score-batch.ts";

/** One answer of a batch as a score function gets it, and the row's id. */
export interface Answer extends ScoreInput {
  /** The row's `uid`, or its number. */
  readonly uid: string;
}

/**
 * What score functions get of each row: the text of its real tokens, special ones left out, and the dataset's columns, copied before
 * `num_turns` and `stop_reason` are added to `extra_info`.
 */
export function readAnswers(batch: DataProto, tokenizer: Pick<Tokenizer, "decode">): Answer[] {
  const responses = batch.tensor("responses", "int32");
  const width = responses.rowSize;
  const sources = batch.column("data_source") as readonly string[];
  const column = (name: string, row: number): unknown => batch.nonTensorBatch.get(name)?.[row];
  return Array.from(responseLengths(batch), (length, row) => {
    const ids = responses.data.subarray(row * width, row * width + length);
    const rewardModel = column("reward_model", row) as { ground_truth?: unknown } | null | undefined;
    return {
      uid: `${(column("uid", row) as string | undefined) ?? row}`,
      data_source: sources[row]!,
      solution_str: tokenizer.decode(ids, { skipSpecialTokens: true }),
      ground_truth: rewardModel?.ground_truth,
      extra_info: {
        ...(column("extra_info", row) as object | null),
        num_turns: column("__num_turns__", row),
        stop_reason: column("stop_reason", row),
      },
    };
  });
}
