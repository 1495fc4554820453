import { rename, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { loadRunConfig, type LoadedConfig } from "../config/index.ts";
import { expandPath } from "../config/expand-path.ts";
import { readRows, stringifyLosslessJson, type Tokenizer } from "../data/index.ts";
import {
  ABORT_SIGNAL,
  CONFIG,
  createRunContainer,
  inNameOf,
  LOGGER,
  METRICS,
  registries,
  RNG,
  TOKENIZER,
  type RunContainer,
} from "../registry/index.ts";
import { isVerlError } from "../errors/index.ts";
import {
  loadScoreFunctions,
  requireScored,
  SCORE_FUNCTIONS,
  scoreBatch,
  type RewardManager,
  type SampleReward,
} from "../reward/index.ts";
import { createRng } from "../tensor/rng.ts";
import { StepMetrics } from "../trainer/metrics/step-metrics.ts";
import { loadRunTokenizer } from "../trainer/run-tokenizer.ts";
import { CodePointTokenizer } from "./code-point-tokenizer.ts";
import type { CliCommand, CliContext } from "./command.ts";
import { addConfigOptions, loadOptions, type ConfigOptions } from "./config-options.ts";
import { isGiven } from "./is-given.ts";
import { writeOutput } from "./output-file.ts";
import { dumpBatch, readDump, type DumpRow, type DumpTokens } from "./reward-dump.ts";
import { showScoring, summariseScoring, type Scoring } from "./reward-report.ts";

interface Options extends ConfigOptions {
  data: string;
  manager?: string;
  out?: string;
  json?: boolean;
}

/** Answers of one call of the manager; between calls the progress is told. */
const CHUNK = 256;

export const command: CliCommand = {
  configure(self, ctx) {
    const run = self.command("run").description("Score the answers of a dump again, without training");
    addConfigOptions(run)
      .requiredOption("--data <file>", "answers: rollouts.jsonl, a dump of rollout_data_dir, or rows with a response")
      .option("--manager <key>", "reward manager; short for reward_model.reward_manager=<key>")
      .option("--out <file>", "write the rows here with their new scores, as JSON Lines")
      .option("--json", "print the result as JSON; stdout has nothing else, and what your code prints goes to stderr")
      .addHelpText(
        "after",
        `
The reward comes from the config, as for \`verl train\`. A row has the answer as \`output\`, \`response\` or \`solution_str\`, the ground truth as
\`gts\`, \`ground_truth\` or \`reward_model.ground_truth\`, and \`data_source\` and \`extra_info\` where the score function reads them.
Answers are scored as text, without the model. Lengths are in tokens where the config names a model that is there and the rows have
\`response_ids\`, else in characters; the reward manager \`dapo\`, which counts them, refuses a named model that does not load.
The exit code is 1 when a larger share than reward_model.max_unscored_fraction has no score.

Examples:
  verl reward run --data runs/grpo/rollouts.jsonl -c run.yaml
  verl reward run --data rollouts.jsonl --manager prime custom_reward_function.path=reward.ts --out scored.jsonl
  verl reward run --data answers.parquet custom_reward_function.name=math_reward --json`,
      )
      .action(async (args: string[], options: Options) => {
        const manager = options.manager === undefined ? [] : [`reward_model.reward_manager=${options.manager}`];
        const loaded = await loadRunConfig(loadOptions("ppo", [...args, ...manager], options, ctx));
        const rows = readDump(await readRows(resolve(ctx.cwd, options.data)), options.data);
        const lastWords = (): string => "No score was written.";
        const scoring = await ctx.run(() => scoreDump(rows, loaded, ctx), lastWords);
        if (options.out !== undefined) await writeScored(resolve(ctx.cwd, options.out), rows, scoring.rewards);
        const summary = { data: options.data, ...summariseScoring(rows, scoring) };
        ctx.print(options.json ? JSON.stringify(summary, null, 2) : showScoring(summary));
        const ids = rows.map(({ uid }) => uid);
        requireScored(scoring.rewards, loaded.config.reward_model.max_unscored_fraction, ids);
      });
  },
};

async function scoreDump(rows: readonly DumpRow[], loaded: LoadedConfig<"ppo">, ctx: CliContext): Promise<Scoring> {
  const { reward_manager, reward_kwargs } = loaded.config.reward_model;
  const metrics = new StepMetrics();
  const tokens = await tokensFor(rows, loaded, ctx);
  const container = await containerFor(loaded, tokens.tokenizer, metrics, ctx);
  const manager = container.create("reward_manager", reward_manager, {
    options: reward_kwargs,
    locate: (option) => loaded.originOf(`reward_model.reward_kwargs${option === "" ? "" : `.${option}`}`),
  });
  try {
    await inNameOf("reward_manager", reward_manager, () => manager.load?.());
    const start = performance.now();
    const rewards = await inNameOf("reward_manager", reward_manager, () => scoreAll(rows, manager, tokens, ctx));
    const seconds = (performance.now() - start) / 1000;
    return { manager: reward_manager, rewards, seconds, metrics: metrics.finish() };
  } finally {
    await manager.dispose?.();
  }
}

async function scoreAll(
  rows: readonly DumpRow[],
  manager: RewardManager,
  tokens: DumpTokens,
  ctx: CliContext,
): Promise<SampleReward[]> {
  const rewards: SampleReward[] = [];
  for (let from = 0; from < rows.length; from += CHUNK) {
    const batch = dumpBatch(rows.slice(from, from + CHUNK), tokens);
    rewards.push(...(await scoreBatch(manager, batch, { validate: true, signal: ctx.signal })));
    if (ctx.interactive) ctx.status(`\r${rewards.length} of ${rows.length} answers scored`);
  }
  if (ctx.interactive) ctx.status("\n");
  return rewards;
}

/**
 * The model's tokens, where the config names the model and every row has ids of it; else characters.
 * @throws VerlError when the tokenizer does not load and the reward manager counts tokens; others score the text, and need none
 */
async function tokensFor(rows: readonly DumpRow[], loaded: LoadedConfig<"ppo">, ctx: CliContext): Promise<DumpTokens> {
  const keys = ["data.tokenizer", "actor_rollout_ref.model.tokenizer_path", "actor_rollout_ref.model.path"];
  if (keys.some((key) => isGiven(loaded, key)) && rows.every(({ ids }) => ids !== undefined)) {
    try {
      return { tokenizer: await loadRunTokenizer(loaded.config), idsOf: ({ ids }) => ids! };
    } catch (error) {
      const manager = loaded.config.reward_model.reward_manager;
      if (!isVerlError(error) || registries.reward_manager.get(manager)?.readsLengths) throw error;
      ctx.logger.info(`The model's tokenizer is not there; answers are scored as text, and lengths are in characters.`);
    }
  }
  const tokenizer = new CodePointTokenizer();
  return { tokenizer, idsOf: ({ text }) => tokenizer.encode(text) };
}

async function containerFor(
  { config, directory }: LoadedConfig<"ppo">,
  tokenizer: Tokenizer,
  metrics: StepMetrics,
  ctx: CliContext,
): Promise<RunContainer> {
  return createRunContainer({
    [CONFIG]: config,
    [LOGGER]: ctx.logger,
    [RNG]: createRng(config.trainer.seed),
    [TOKENIZER]: tokenizer,
    [METRICS]: metrics,
    [ABORT_SIGNAL]: ctx.signal,
    [SCORE_FUNCTIONS]: await loadScoreFunctions(config.custom_reward_function, directory),
  });
}

/** Each row as it was, with `score`, `reward` and, where there is no score, `unscored`; the score before is `previous_score`. */
async function writeScored(path: string, rows: readonly DumpRow[], rewards: readonly SampleReward[]): Promise<void> {
  const file = expandPath(path);
  const lines = rows.map(({ row, previous }, at) => {
    const reward = rewards[at]!;
    const result = "unscored" in reward ? { score: null, unscored: reward.unscored } : { score: reward.score };
    const { unscored: _, ...kept } = row;
    return stringifyLosslessJson({ ...kept, previous_score: previous, ...result, reward: reward.extra });
  });
  await writeOutput(file, async () => {
    const temporary = `${file}.${process.pid}.tmp`;
    await writeFile(temporary, `${lines.join("\n")}\n`);
    await rename(temporary, file);
  });
}
