import {
  CONFIG,
  DATASET_SOURCE,
  inject,
  loadCustomClass,
  LOGGER,
  parseLosslessJson,
  requireMethods,
  RNG,
  stringifyLosslessJson,
  TOKENIZER,
  VerlError,
  type DataGenerator,
  type DataProto,
  type DatasetSource,
  type GeneratorContext,
  type LoadedClass,
  type Logger,
  type PpoConfig,
  type Rng,
  type Row,
  type Tokenizer,
} from "verl";
import { RlhfDataset, type RlhfConfig } from "./rlhf.ts";

const OPTION = "data.datagen.path";

/** The parts of the config that are read. */
export type DynamicConfig = RlhfConfig & { data: Pick<PpoConfig["data"], "datagen"> };

interface DynamicState {
  /** As JSON text, which keeps large integers. */
  rows: string;
  generator: unknown;
}

/**
 * The rows of the files, and those that a generator of the user's (`data.datagen`) adds after each step, by what came of it. New rows
 * go through the same checks and the same template, and are drawn from the next epoch on. Prompts too long are left out and counted.
 * Validation data stays as it is in the files.
 */
export class DynamicDataset extends RlhfDataset {
  private generator: DataGenerator | undefined;
  private origin = "";
  /** All that was generated, the rows that were too long included: their order is what a resumed run needs. */
  private readonly generated: Row[] = [];

  constructor(
    @inject(CONFIG) protected override readonly config: DynamicConfig,
    @inject(DATASET_SOURCE) source: DatasetSource,
    @inject(TOKENIZER) tokenizer: Tokenizer,
    @inject(RNG) rng: Rng,
    @inject(LOGGER) log: Logger,
  ) {
    super(config, source, tokenizer, rng, log);
  }

  override async load(): Promise<void> {
    await super.load();
    if (this.source.split === "validation") return;
    const { path, name } = this.config.data.datagen;
    if (path === null) {
      throw new VerlError("VERL_CONFIG_VALUE", 'The dataset "dynamic" has no generator.', {
        location: { path: OPTION },
        hint: "Set data.datagen.path to a .ts or .js file whose class has generate().",
      });
    }
    const loaded: LoadedClass<DataGenerator> = await loadCustomClass(
      { path, name },
      OPTION,
      this.source.directory ?? process.cwd(),
    );
    const Generator = loaded.create as new (context: GeneratorContext) => DataGenerator;
    this.generator = new Generator({ config: this.config, rng: this.rng, tokenizer: this.tokenizer, log: this.log });
    this.origin = loaded.name;
    requireMethods(this.generator, ["generate"], loaded, OPTION);
  }

  async onBatchEnd(batch: DataProto, step: number): Promise<void> {
    if (this.generator === undefined) return;
    const rows = await this.generator.generate({ dataset: this, batch, step });
    if (!Array.isArray(rows)) {
      throw new VerlError("VERL_DATA_CUSTOM_CLASS", `The generator ${this.origin} returned no list of rows.`, {
        location: { path: OPTION },
        hint: "generate() returns a list of rows in verl's columns, an empty one where there is nothing to add.",
      });
    }
    this.append(rows as readonly Row[]);
  }

  saveState(): DynamicState {
    return { rows: stringifyLosslessJson(this.generated), generator: this.generator?.saveState?.() ?? null };
  }

  loadState(state: unknown): void {
    const { rows, generator } = state as DynamicState;
    this.append(parseLosslessJson(rows) as Row[]);
    if (generator !== null) this.generator?.loadState?.(generator);
  }

  private append(rows: readonly Row[]): void {
    const first = this.generated.length;
    const placed = rows.map((row, index) => ({ row, origin: { file: this.origin, row: first + index } }));
    const added = this.addRows(placed);
    this.generated.push(...rows);
    if (added < rows.length)
      this.log.warn(`Left out ${rows.length - added} of ${rows.length} generated rows: too long.`);
  }
}
