import type { DataProto } from "../../batch/data-proto.ts";
import type { Tokenizer } from "../../data/tokenizer.ts";
import { Mt19937 } from "../metrics/mt19937.ts";

/** One sampled answer as `rollouts.jsonl` keeps it. Per-token lists cover the response alone and are of one length. */
export interface RolloutRow {
  step: number;
  split: "train" | "val";
  /** The prompt that it answers. */
  uid: string;
  data_source: string | null;
  /** Prompt and response as text, special tokens left out. */
  input: string;
  output: string;
  /** `reward_model.ground_truth`. */
  gts: unknown;
  /** What the score function had beside these: the row's own, `num_turns` and `stop_reason`. */
  extra_info: Record<string, unknown>;
  /** null: unscored. */
  score: number | null;
  /** What the reward reported beside the score. */
  reward: Record<string, unknown>;
  prompt_ids: number[];
  response_ids: number[];
  /** Each response id as text, special tokens included. */
  tokens: string[];
  /** 1 where the loss trains. */
  mask: number[];
  /** log π of the sampler. */
  rollout_log_probs?: number[];
  /** log π of the trainer before the update. */
  old_log_probs?: number[];
  advantages?: number[];
}

export interface RolloutContext {
  step: number;
  split: "train" | "val";
  tokenizer: Pick<Tokenizer, "decode">;
  /** Reward parts: name → one value a row. */
  parts?: Readonly<Record<string, readonly unknown[]>>;
}

const TOKEN_FIELDS = ["rollout_log_probs", "old_log_probs", "advantages"] as const;

/**
 * The given rows of a batch with `prompts`, `responses`, `attention_mask`, `response_mask` and, where they exist, `token_level_scores`, `unscored`,
 * `rollout_log_probs`, `old_log_probs` and `advantages`.
 */
export function rolloutRows(batch: DataProto, rows: Iterable<number>, context: RolloutContext): RolloutRow[] {
  return Array.from(rows, (row) => rolloutRow(batch, row, context));
}

function rolloutRow(batch: DataProto, row: number, { step, split, tokenizer, parts = {} }: RolloutContext): RolloutRow {
  const { promptIds, responseIds } = rowIds(batch, row);
  const length = responseIds.length;
  const perToken = (field: string): number[] => {
    const { data, shape } = batch.tensor(field);
    const start = row * shape[1]!;
    return Array.from({ length }, (_, i) => short(Number(data[start + i])));
  };
  const has = (field: string) => batch.batch.has(field);
  const column = (key: string) => batch.nonTensorBatch.get(key)?.[row];
  const unscored = !has("token_level_scores") || (has("unscored") && Number(batch.tensor("unscored").data[row]) === 1);
  const rewardModel = column("reward_model") as { ground_truth?: unknown } | null | undefined;
  return {
    step,
    split,
    uid: (column("uid") as string | undefined) ?? String(row),
    data_source: (column("data_source") as string | undefined) ?? null,
    input: tokenizer.decode(promptIds, { skipSpecialTokens: true }),
    output: tokenizer.decode(responseIds, { skipSpecialTokens: true }),
    gts: rewardModel?.ground_truth ?? null,
    extra_info: plain({
      ...(column("extra_info") as object | null | undefined),
      num_turns: column("__num_turns__"),
      stop_reason: column("stop_reason"),
    }),
    score: unscored ? null : short(perToken("token_level_scores").reduce((sum, score) => sum + score, 0)),
    reward: Object.fromEntries(Object.entries(parts).map(([part, values]) => [part, values[row] ?? null])),
    prompt_ids: promptIds,
    response_ids: responseIds,
    tokens: responseIds.map((id) => tokenizer.decode([id], { skipSpecialTokens: false })),
    mask: perToken("response_mask"),
    ...Object.fromEntries(TOKEN_FIELDS.filter(has).map((field) => [field, perToken(field)])),
  };
}

/** The same in JSON, where large integers are texts, and bytes no more than their number. */
const plain = (value: object): Record<string, unknown> =>
  JSON.parse(
    JSON.stringify(value, (_, field: unknown) =>
      typeof field === "bigint" ? String(field) : field instanceof Uint8Array ? `${field.length} bytes` : field,
    ),
  ) as Record<string, unknown>;

/** Rows of whole groups (one uid), in batch order, until `limit` rows are taken; the first group is cut if it alone is larger. */
export function pickGroups(batch: DataProto, limit: number): number[] {
  const uids = batch.nonTensorBatch.get("uid");
  const groups = new Map<unknown, number[]>();
  for (const row of batch.validRows()) {
    const uid = uids?.[row] ?? row;
    const group = groups.get(uid) ?? [];
    groups.set(uid, group);
    group.push(row);
  }
  const picked: number[] = [];
  for (const group of groups.values()) {
    if (picked.length > 0 && picked.length + group.length > limit) break;
    picked.push(...group.slice(0, limit));
  }
  return picked;
}

/**
 * verl's choice of validation answers to show: sorted by prompt, shuffled by `RandomState(42)`, the first `limit`. Equal validation
 * sets give the same prompts every time, so that answers can be compared over the run.
 */
export function pickValidation(batch: DataProto, limit: number, tokenizer: Pick<Tokenizer, "decode">): number[] {
  const inputs = Array.from(batch.validRows(), (row) => ({
    row,
    input: tokenizer.decode(rowIds(batch, row).promptIds, { skipSpecialTokens: true }),
  }));
  inputs.sort((a, b) => (a.input < b.input ? -1 : a.input > b.input ? 1 : a.row - b.row));
  return new Mt19937(42)
    .shuffle(inputs)
    .slice(0, limit)
    .map(({ row }) => row);
}

/** Ids of one row without padding. */
function rowIds(batch: DataProto, row: number): { promptIds: number[]; responseIds: number[] } {
  const attention = batch.tensor("attention_mask");
  const pick = (field: "prompts" | "responses", offset: number): number[] => {
    const { data, shape } = batch.tensor(field);
    const width = shape[1]!;
    const ids: number[] = [];
    for (let i = 0; i < width; i++) {
      if (Number(attention.data[row * attention.shape[1]! + offset + i]) !== 0) ids.push(Number(data[row * width + i]));
    }
    return ids;
  };
  return { promptIds: pick("prompts", 0), responseIds: pick("responses", batch.tensor("prompts").shape[1]!) };
}

/** Six digits are what float32 carries surely. */
function short(value: number): number {
  return Number(value.toPrecision(6));
}
