import {
  asMessages,
  asObject,
  asString,
  CONFIG,
  DATASET_SOURCE,
  encodePrompt,
  inject,
  LOGGER,
  measureHere,
  measurePrompts,
  needsGroundTruth,
  readRows,
  readTools,
  requireColumn,
  RNG,
  TOKENIZER,
  truncateIds,
  withoutNullFields,
  withRow,
  VerlError,
  type ChatMessage,
  type DataConfig,
  type Dataset,
  type DatasetRow,
  type DatasetSource,
  type Logger,
  type MeasureOptions,
  type PpoConfig,
  type Rng,
  type Row,
  type RowOrigin,
  type Tokenizer,
} from "verl";
import { checkGroundTruths } from "./ground-truths.ts";
import { limitRows, weighRows, weightsOf } from "./pick-rows.ts";
import { warnOfUnscorable } from "./score-functions.ts";

interface Prompt {
  row: DatasetRow;
  messages: ChatMessage[];
  tools: readonly Record<string, unknown>[];
  /** Tokens; 0 until it is measured. */
  length: number;
  origin: RowOrigin;
}

/** A row as it was read. */
export interface SourceRow {
  row: Row;
  origin: RowOrigin;
}

/** The parts of the config that are read. */
export interface RlhfConfig {
  data: DataConfig;
  reward_model: Pick<PpoConfig["reward_model"], "reward_manager">;
  custom_reward_function: PpoConfig["custom_reward_function"];
}

/**
 * Prompts from parquet or JSON Lines in verl's columns: `data_source`, `prompt` (chat messages), `ability`,
 * `reward_model { style, ground_truth }`, `extra_info`, and any others, which stay with the row. A `tools` column (schemas, as a list
 * or as JSON text), or else the run's tools, go to the chat template. All prompts are measured while loading, so that a prompt too
 * long ends the run before it starts; their tokens are made when they are asked for.
 *
 * A class that extends this one reads rows from elsewhere by `readSource`.
 */
export class RlhfDataset implements Dataset {
  private readonly data: DataConfig;
  private prompts: Prompt[] = [];
  private counters: Record<string, number> = {};

  constructor(
    @inject(CONFIG) protected readonly config: RlhfConfig,
    @inject(DATASET_SOURCE) protected readonly source: DatasetSource,
    @inject(TOKENIZER) protected readonly tokenizer: Tokenizer,
    @inject(RNG) protected readonly rng: Rng,
    @inject(LOGGER) protected readonly log: Logger,
  ) {
    this.data = config.data;
  }

  async load(): Promise<void> {
    const picked = limitRows(await this.readSource(), this.source, this.rng);
    if (picked.length === 0) {
      throw new VerlError("VERL_DATA_EMPTY", "The dataset has no rows.", {
        location: { file: this.source.files.join(", ") || undefined, path: "data.train_files" },
        hint: "Check data.train_files and data.val_files, and data.train_max_samples and data.val_max_samples.",
      });
    }
    const prompts = picked.map((one, index) => this.readPrompt(one, index));
    const registered = needsGroundTruth(this.config);
    checkGroundTruths(prompts, registered, this.log);
    if (registered) await warnOfUnscorable(prompts, this.config.custom_reward_function, this.log);
    const lengths = await measurePrompts(this.tokenizer, prompts, {
      ...this.measuring(prompts),
      workers: this.data.filter_overlong_prompts_workers,
      onProgress: this.source.progress?.("measuring prompts"),
    });
    setLengths(prompts, lengths);
    if (this.data.filter_overlong_prompts) this.prompts = this.dropOverlong(prompts);
    else this.prompts = this.checkOverlong(prompts);
    this.counters["data/rows"] = this.prompts.length;
  }

  get length(): number {
    return this.prompts.length;
  }

  get stats(): Readonly<Record<string, number>> {
    return this.counters;
  }

  promptIds(index: number): Int32Array {
    const { truncation, max_prompt_length: limit } = this.data;
    const ids = encodePrompt(this.tokenizer, this.at(index), this.data.apply_chat_template_kwargs);
    return truncation === "error" ? ids : truncateIds(ids, limit, truncation);
  }

  row(index: number): DatasetRow {
    return this.at(index).row;
  }

  /** All rows of the files, as often as their weights say. */
  protected async readSource(): Promise<SourceRow[]> {
    const weights = weightsOf(this.source);
    const rows: SourceRow[][] = [];
    for (const [index, file] of this.source.files.entries()) {
      const read = await readRows(file);
      requireColumn(read, this.data.prompt_key, file, "data.prompt_key");
      requireColumn(read, this.data.reward_fn_key, file, "data.reward_fn_key");
      const placed = read.map((row, place): SourceRow => ({ row, origin: { file, row: place } }));
      rows.push(weighRows(placed, weights[index]!, this.rng, index));
    }
    return rows.flat();
  }

  /**
   * Adds rows to those that were loaded; prompts too long are left out, whatever `data.filter_overlong_prompts` says. @returns how
   * many were added.
   */
  protected addRows(rows: readonly SourceRow[]): number {
    const prompts = rows.map((one, index) => this.readPrompt(one, this.prompts.length + index));
    checkGroundTruths(prompts, needsGroundTruth(this.config), this.log);
    setLengths(prompts, measureHere(this.tokenizer, prompts, this.measuring(prompts)));
    const kept = prompts.filter(({ length }) => length <= this.data.max_prompt_length);
    this.prompts.push(...kept);
    this.counters["data/overlong_dropped"] =
      (this.counters["data/overlong_dropped"] ?? 0) + prompts.length - kept.length;
    this.counters["data/rows"] = this.prompts.length;
    return kept.length;
  }

  private at(index: number): Prompt {
    const prompt = this.prompts[index];
    if (prompt === undefined) throw new RangeError(`The dataset has no row ${index}; it has ${this.length}.`);
    return prompt;
  }

  private readPrompt({ row, origin }: SourceRow, index: number): Prompt {
    const { prompt_key, reward_fn_key } = this.data;
    const messages = asMessages(row[prompt_key], prompt_key, origin);
    const extraInfo = withKwargs(asObject(row.extra_info, "extra_info", origin));
    return {
      row: {
        ...withKwargs(row),
        data_source: asString(row[reward_fn_key], reward_fn_key, origin),
        raw_prompt: messages,
        reward_model: asObject(row.reward_model, "reward_model", origin),
        extra_info: extraInfo,
        index: typeof extraInfo.index === "number" || typeof extraInfo.index === "string" ? extraInfo.index : index,
      },
      messages,
      tools: this.toolsOf(row, origin),
      length: 0,
      origin,
    };
  }

  private toolsOf(row: Row, origin: RowOrigin): readonly Record<string, unknown>[] {
    const own = row.tools ?? undefined;
    if (own !== undefined) return readTools(own, "tools", origin);
    try {
      return this.source.tools?.(row) ?? [];
    } catch (error) {
      throw withRow(error as Error, origin);
    }
  }

  private measuring(prompts: readonly Prompt[]): MeasureOptions {
    return {
      variables: this.data.apply_chat_template_kwargs,
      fault: (at, error) => withRow(error, prompts[at]!.origin),
    };
  }

  private dropOverlong(prompts: Prompt[]): Prompt[] {
    const limit = this.data.max_prompt_length;
    const kept = prompts.filter((prompt) => prompt.length <= limit);
    const dropped = prompts.length - kept.length;
    this.counters["data/overlong_dropped"] = dropped;
    const longest = longestOf(prompts);
    if (kept.length === 0) {
      throw new VerlError(
        "VERL_DATA_EMPTY",
        `All ${prompts.length} prompts are longer than ${limit} tokens; the longest has ${longest}.`,
        {
          location: { file: this.source.files.join(", "), path: "data.max_prompt_length" },
          hint: `Raise data.max_prompt_length; ${longest} would keep every prompt.`,
        },
      );
    }
    if (dropped > 0) {
      this.log.warn(
        `Removed ${dropped} of ${prompts.length} prompts: longer than data.max_prompt_length=${limit} tokens (longest ${longest}).`,
      );
    }
    return kept;
  }

  /** Says which prompts will be cut. @throws VerlError VERL_DATA_PROMPT_TOO_LONG where none may be. */
  private checkOverlong(prompts: Prompt[]): Prompt[] {
    const { max_prompt_length: limit, truncation } = this.data;
    const long = prompts.filter((prompt) => prompt.length > limit);
    this.counters["data/prompts_truncated"] = long.length;
    const [first] = long;
    if (first === undefined) return prompts;
    if (truncation === "error") {
      const { row, file } = first.origin;
      throw new VerlError(
        "VERL_DATA_PROMPT_TOO_LONG",
        `The prompt of row ${row} has ${first.length} tokens > ${limit} allowed; ${long.length} of ${prompts.length} prompts are too long.`,
        {
          location: { file, path: "data.max_prompt_length" },
          hint: `Set data.filter_overlong_prompts=true, data.truncation=left|right|middle, or data.max_prompt_length=${longestOf(prompts)}.`,
          details: { row, tokens: first.length, limit },
        },
      );
    }
    this.log.warn(
      `Cut ${long.length} of ${prompts.length} prompts to data.max_prompt_length=${limit} tokens (truncation: ${truncation}).`,
    );
    return prompts;
  }
}

/** Arguments of tools and interactions: structs that hold the tools of all rows, null where a row has others. */
function withKwargs(fields: Row): Row {
  const given = ["tools_kwargs", "interaction_kwargs"].filter((name) => name in fields);
  if (given.length === 0) return fields;
  return { ...fields, ...Object.fromEntries(given.map((name) => [name, withoutNullFields(fields[name])])) };
}

/** @throws VerlError VERL_DATA_PROMPT_EMPTY for a prompt without a token. */
function setLengths(prompts: readonly Prompt[], lengths: Int32Array): void {
  prompts.forEach((prompt, index) => (prompt.length = lengths[index]!));
  const empty = prompts.find(({ length }) => length === 0);
  if (empty === undefined) return;
  const { file, row } = empty.origin;
  throw new VerlError("VERL_DATA_PROMPT_EMPTY", `The chat template makes no token of the prompt of row ${row}.`, {
    location: { file },
    hint: "Give the row some content, or mend the chat template; an answer has to start from at least one token.",
    details: { row },
  });
}

function longestOf(prompts: readonly Prompt[]): number {
  return prompts.reduce((longest, prompt) => Math.max(longest, prompt.length), 0);
}
