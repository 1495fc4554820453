import { DataProto, NdArray } from "../batch/index.ts";
import type { ChatMessage, Tokenizer } from "../data/index.ts";
import { VerlError } from "../errors/index.ts";

/** One answer of a dump. */
export interface DumpRow {
  /** As it stands in the file. */
  readonly row: Readonly<Record<string, unknown>>;
  readonly text: string;
  /** Token ids of the answer, where the dump has them. */
  readonly ids: readonly number[] | undefined;
  readonly uid: string;
  readonly data_source: string;
  readonly ground_truth: unknown;
  readonly extra_info: Readonly<Record<string, unknown>>;
  readonly prompt: readonly ChatMessage[];
  /** The score that the dump has; null: it was unscored. */
  readonly previous: number | null;
}

/** @throws VERL_CLI_FILE for a row without an answer. */
export function readDump(rows: readonly Readonly<Record<string, unknown>>[], file: string): DumpRow[] {
  return rows.map((row, index) => {
    const text = [row["output"], row["response"], row["solution_str"]].find((value) => typeof value === "string");
    if (typeof text !== "string") throw noAnswer(file, index, row);
    const rewardModel = row["reward_model"] as { ground_truth?: unknown } | null | undefined;
    const { uid, data_source, score, response_ids } = row;
    return {
      row,
      text,
      ids: isIds(response_ids) ? response_ids : undefined,
      uid: typeof uid === "string" ? uid : String(index),
      data_source: typeof data_source === "string" ? data_source : "unknown",
      ground_truth: row["gts"] ?? row["ground_truth"] ?? rewardModel?.ground_truth,
      extra_info: (row["extra_info"] ?? {}) as Record<string, unknown>,
      prompt: promptOf(row),
      previous: typeof score === "number" ? score : null,
    };
  });
}

const isIds = (value: unknown): value is number[] =>
  Array.isArray(value) && value.every((id) => Number.isInteger(id) && id >= 0);

function promptOf({ raw_prompt, prompt, input }: Readonly<Record<string, unknown>>): readonly ChatMessage[] {
  if (Array.isArray(raw_prompt)) return raw_prompt as ChatMessage[];
  if (Array.isArray(prompt)) return prompt as ChatMessage[];
  const text = typeof prompt === "string" ? prompt : input;
  return [{ role: "user", content: typeof text === "string" ? text : "" }];
}

/** Tokens of a dump's answers. */
export interface DumpTokens {
  readonly tokenizer: Tokenizer;
  readonly idsOf: (row: DumpRow) => ArrayLike<number>;
}

/** Answers as the batch that reward managers get in a run. */
export function dumpBatch(rows: readonly DumpRow[], { tokenizer, idsOf }: DumpTokens): DataProto {
  const answers = rows.map(idsOf);
  const width = Math.max(1, ...answers.map(({ length }) => length));
  const shape = [rows.length, width];
  const responses = new Int32Array(rows.length * width).fill(tokenizer.padTokenId);
  const mask = new Int32Array(rows.length * width);
  answers.forEach((ids, row) => {
    responses.set(ids, row * width);
    mask.fill(1, row * width, row * width + ids.length);
  });
  return new DataProto({
    batch: {
      responses: new NdArray("int32", shape, responses),
      attention_mask: new NdArray("int32", shape, mask),
      response_mask: new NdArray("int32", shape, mask.slice()),
    },
    nonTensorBatch: {
      uid: rows.map(({ uid }) => uid),
      data_source: rows.map(({ data_source }) => data_source),
      reward_model: rows.map(({ ground_truth }) => ({ ground_truth })),
      extra_info: rows.map(({ extra_info }) => extra_info),
      raw_prompt: rows.map(({ prompt }) => prompt),
      __num_turns__: rows.map(({ extra_info }) => extra_info["num_turns"] ?? null),
      stop_reason: rows.map(({ extra_info }) => extra_info["stop_reason"] ?? null),
    },
  });
}

function noAnswer(file: string, index: number, row: object): VerlError {
  return new VerlError("VERL_CLI_FILE", `Row ${index} of ${file} has no answer.`, {
    location: { file },
    hint: `The answer is a text \`output\`, \`response\` or \`solution_str\`; the row has ${Object.keys(row).join(", ") || "nothing"}.`,
  });
}
