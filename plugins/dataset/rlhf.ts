import {
  asMessages,
  asObject,
  asString,
  CONFIG,
  DATASET_SOURCE,
  inject,
  isVerlError,
  LOGGER,
  needsGroundTruth,
  readRows,
  readTools,
  requireColumn,
  RNG,
  TOKENIZER,
  truncateIds,
  VerlError,
  type ChatMessage,
  type DataConfig,
  type Dataset,
  type DatasetRow,
  type DatasetSource,
  type Logger,
  type PpoConfig,
  type Rng,
  type Row,
  type RowOrigin,
  type Tokenizer,
} from "verl";

interface Prompt {
  row: DatasetRow;
  ids: Int32Array;
  origin: RowOrigin;
}

/** The parts of the config that are read. */
export interface RlhfConfig {
  data: DataConfig;
  reward_model: Pick<PpoConfig["reward_model"], "reward_manager">;
  custom_reward_function: Pick<PpoConfig["custom_reward_function"], "path">;
}

/**
 * Prompts from parquet or JSON Lines in verl's columns: `data_source`, `prompt` (chat messages), `ability`,
 * `reward_model { style, ground_truth }`, `extra_info`, and any others, which stay with the row. A `tools` column (schemas, as a list
 * or as JSON text), or else the run's tools, go to the chat template. All prompts are tokenised while loading, so that a prompt too long ends the run before
 * it starts.
 */
export class RlhfDataset implements Dataset {
  private readonly data: DataConfig;
  private prompts: Prompt[] = [];
  private counters: Record<string, number> = {};

  constructor(
    @inject(CONFIG) private readonly config: RlhfConfig,
    @inject(DATASET_SOURCE) private readonly source: DatasetSource,
    @inject(TOKENIZER) private readonly tokenizer: Tokenizer,
    @inject(RNG) private readonly rng: Rng,
    @inject(LOGGER) private readonly log: Logger,
  ) {
    this.data = config.data;
  }

  async load(): Promise<void> {
    const rows: { row: Row; origin: RowOrigin }[] = [];
    for (const file of this.source.files) {
      const read = await readRows(file);
      requireColumn(read, this.data.prompt_key, file, "data.prompt_key");
      requireColumn(read, this.data.reward_fn_key, file, "data.reward_fn_key");
      read.forEach((row, index) => rows.push({ row, origin: { file, row: index } }));
    }
    const picked = this.pick(rows);
    if (picked.length === 0) {
      throw new VerlError("VERL_DATA_EMPTY", "The dataset has no rows.", {
        location: { file: this.source.files.join(", ") || undefined, path: "data.train_files" },
        hint: "Check data.train_files and data.val_files, and data.train_max_samples and data.val_max_samples.",
      });
    }
    const prompts = picked.map(({ row, origin }, index) => this.readPrompt(row, origin, index));
    this.checkGroundTruths(prompts);
    this.prompts = this.data.filter_overlong_prompts ? this.dropOverlong(prompts) : this.cutOverlong(prompts);
    this.counters["data/rows"] = this.prompts.length;
  }

  get length(): number {
    return this.prompts.length;
  }

  get stats(): Readonly<Record<string, number>> {
    return this.counters;
  }

  promptIds(index: number): Int32Array {
    return this.at(index).ids;
  }

  row(index: number): DatasetRow {
    return this.at(index).row;
  }

  private at(index: number): Prompt {
    const prompt = this.prompts[index];
    if (prompt === undefined) throw new RangeError(`The dataset has no row ${index}; it has ${this.length}.`);
    return prompt;
  }

  /** At most `maxSamples` rows: random ones in file order, or the first. */
  private pick<T>(rows: T[]): T[] {
    const { maxSamples, shuffle } = this.source;
    if (maxSamples < 0 || maxSamples >= rows.length) return rows;
    if (!shuffle) return rows.slice(0, maxSamples);
    const order = Int32Array.from(rows, (_, index) => index);
    const picked = this.rng.stream("data/max_samples").shuffle(order).slice(0, maxSamples).sort();
    return Array.from(picked, (index) => rows[index]!);
  }

  private readPrompt(row: Row, origin: RowOrigin, index: number): Prompt {
    const { prompt_key, reward_fn_key } = this.data;
    const messages = asMessages(row[prompt_key], prompt_key, origin);
    const extraInfo = asObject(row.extra_info, "extra_info", origin);
    return {
      row: {
        ...row,
        data_source: asString(row[reward_fn_key], reward_fn_key, origin),
        raw_prompt: messages,
        reward_model: asObject(row.reward_model, "reward_model", origin),
        extra_info: extraInfo,
        index: typeof extraInfo.index === "number" || typeof extraInfo.index === "string" ? extraInfo.index : index,
      },
      ids: this.tokenise(messages, this.toolsOf(row, origin), origin),
      origin,
    };
  }

  private toolsOf(row: Row, origin: RowOrigin): Record<string, unknown>[] {
    const own = row.tools ?? undefined;
    return own === undefined ? (this.source.tools?.(row) ?? []) : readTools(own, "tools", origin);
  }

  /** No row is scored against nothing unnoticed: all rows of a data source have a ground truth, or none, where that may be. */
  private checkGroundTruths(prompts: readonly Prompt[]): void {
    const needed = needsGroundTruth(this.config);
    const has = ({ row }: Prompt): boolean => (row.reward_model?.ground_truth ?? null) !== null;
    const withTruth = new Set(prompts.filter(has).map(({ row }) => row.data_source));
    const without = prompts.filter((prompt) => !has(prompt));
    const hole = without.find(({ row }) => needed || withTruth.has(row.data_source));
    if (hole !== undefined) {
      const { row, file } = hole.origin;
      throw new VerlError(
        "VERL_DATA_GROUND_TRUTH",
        `Row ${row} has no \`reward_model.ground_truth\`; ${without.length} of ${prompts.length} rows lack it.`,
        {
          location: { file },
          hint: needed
            ? "Registered score functions compare answers with it: add the column `reward_model` with the field `ground_truth`, or score by a function of your own (custom_reward_function.path)."
            : `Other rows of data_source "${hole.row.data_source}" have one: give every row of it a ground truth, or none.`,
          details: { row, without: without.length },
        },
      );
    }
    for (const source of new Set(without.map(({ row }) => row.data_source))) {
      this.log.warnOnce(
        `ground_truth/${source}`,
        `No row of data_source "${source}" has \`reward_model.ground_truth\`: the score function gets undefined for it.`,
      );
    }
  }

  private tokenise(messages: readonly ChatMessage[], tools: Record<string, unknown>[], origin: RowOrigin): Int32Array {
    const ids = this.encode(messages, tools, origin);
    if (ids.length > 0) return ids;
    throw new VerlError(
      "VERL_DATA_PROMPT_EMPTY",
      `The chat template makes no token of the prompt of row ${origin.row}.`,
      {
        location: { file: origin.file },
        hint: "Give the row some content, or mend the chat template; an answer has to start from at least one token.",
        details: { row: origin.row },
      },
    );
  }

  private encode(messages: readonly ChatMessage[], tools: Record<string, unknown>[], origin: RowOrigin): Int32Array {
    try {
      return this.tokenizer.encodeChat(messages, {
        ...this.data.apply_chat_template_kwargs,
        tools,
        addGenerationPrompt: true,
      });
    } catch (cause) {
      if (!isVerlError(cause)) throw cause;
      throw new VerlError(cause.code, `${cause.message} It was row ${origin.row} of the dataset.`, {
        hint: cause.hint,
        location: { file: origin.file },
        cause,
        details: { ...cause.details, row: origin.row },
      });
    }
  }

  private dropOverlong(prompts: Prompt[]): Prompt[] {
    const limit = this.data.max_prompt_length;
    const kept = prompts.filter((prompt) => prompt.ids.length <= limit);
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

  private cutOverlong(prompts: Prompt[]): Prompt[] {
    const { max_prompt_length: limit, truncation } = this.data;
    const long = prompts.filter((prompt) => prompt.ids.length > limit);
    this.counters["data/prompts_truncated"] = long.length;
    const [first] = long;
    if (first === undefined) return prompts;
    if (truncation === "error") {
      const { row, file } = first.origin;
      throw new VerlError(
        "VERL_DATA_PROMPT_TOO_LONG",
        `The prompt of row ${row} has ${first.ids.length} tokens > ${limit} allowed; ${long.length} of ${prompts.length} prompts are too long.`,
        {
          location: { file, path: "data.max_prompt_length" },
          hint: `Set data.filter_overlong_prompts=true, data.truncation=left|right|middle, or data.max_prompt_length=${longestOf(prompts)}.`,
          details: { row, tokens: first.ids.length, limit },
        },
      );
    }
    this.log.warn(
      `Cut ${long.length} of ${prompts.length} prompts to data.max_prompt_length=${limit} tokens (truncation: ${truncation}).`,
    );
    for (const prompt of long) prompt.ids = truncateIds(prompt.ids, limit, truncation);
    return prompts;
  }
}

function longestOf(prompts: readonly Prompt[]): number {
  return prompts.reduce((longest, prompt) => Math.max(longest, prompt.ids.length), 0);
}
