import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { InvalidArgumentError } from "commander";
import { Gateway, trajectoriesOf, type Exchange, type ToolParser, type Trajectory } from "../agent/index.ts";
import { loadTokenizer, type Tokenizer } from "../data/index.ts";
import { noModelFolder } from "../data/load-tokenizer.ts";
import type { RoleConfig, RolloutEngine } from "../engine/index.ts";
import { counted, isVerlError, VerlError } from "../errors/index.ts";
import { createRunContainer, registries, ROLE_CONFIG, TOKENIZER, type RunContainer } from "../registry/index.ts";
import { activateBackend } from "../tensor/index.ts";
import { CaptureFile } from "./capture-file.ts";
import type { CliCommand, CliContext } from "./command.ts";
import { MODEL_FILES, requireModelFolder } from "./model-folder.ts";
import { addRegistryOptions, loadForOptions, type RegistryOptions } from "./registry-options.ts";

interface Options extends RegistryOptions {
  out: string;
  port: number;
  format: string;
  temperature: number;
  maxTokens?: number;
  seed: number;
  idle: number;
}

/** How often idle conversations are looked for, in ms. */
const SWEEP_MS = 5000;

export const command: CliCommand = {
  configure(self, ctx) {
    addRegistryOptions(self.argument("<model>", "model folder in the Hugging Face layout, with weights", folderPath))
      .option("--out <file>", "what is captured, as JSON Lines", "trajectories.jsonl")
      .option("--port <n>", "port on 127.0.0.1; 0: any that is free", wholeNumber(0, 65_535), 0)
      .option("--format <key>", "tool-call format, as `verl list tool_parser` shows them", "auto")
      .option("--temperature <t>", "of requests that name none", positive, 1)
      .option("--max-tokens <n>", "tokens of a conversation after its first prompt", wholeNumber(1, 2 ** 31 - 1))
      .option("--seed <n>", "seed of requests that name none", wholeNumber(0, 2 ** 32 - 1), 0)
      .option("--idle <seconds>", "a conversation this long without a request is written and forgotten", positive, 600)
      .addHelpText(
        "after",
        `
Serves /v1/chat/completions, /v1/completions and /v1/models to whoever has the key, which is another one each time. Set OPENAI_BASE_URL and
OPENAI_API_KEY to what is printed, and an agent that uses OpenAI's client needs no change. Ctrl-C writes what is left, and ends.
Streams are served, but an answer is whole before its first piece comes.
A line of the file is one conversation in tokens: prompt_ids, response_ids, mask (1: sampled), rollout_log_probs and weight_version.
What several branches of a conversation share is masked in all but the first of them.

Example:
  verl gateway runs/grpo/huggingface --out captured.jsonl`,
      )
      .action(async (model: string, options: Options) => {
        await loadForOptions(options, ctx);
        const folder = resolve(ctx.cwd, model);
        if (!existsSync(folder)) throw noModelFolder(model, folder, "<model>");
        requireModelFolder(folder);
        const out = new CaptureFile(resolve(ctx.cwd, options.out), ctx.logger);
        const work = (): Promise<void> => serve(folder, out, options, ctx);
        await ctx.run(work, () => `What was written until now is in ${out.path}.`);
        if (options.json) ctx.print(JSON.stringify({ trajectories: out.written, out: out.path }));
        else ctx.print(`Wrote ${counted(out.written, "trajectory", "trajectories")} to ${out.path}.`);
      });
  },
};

/** Serves until it is asked to stop. */
async function serve(folder: string, out: CaptureFile, options: Options, ctx: CliContext): Promise<void> {
  const tokenizer = await loadTokenizer(folder, { folderKey: "<model>" });
  const contextLength = await contextLengthOf(folder);
  const container = createRunContainer({ [TOKENIZER]: tokenizer });
  const parser = openParser(container, options.format);
  ctx.logger.info((await activateBackend(null)).note);
  const role: RoleConfig = { role: "rollout", model: { path: folder } };
  const rollout = container.create("rollout", "embedded", { values: { [ROLE_CONFIG]: role } });
  const gateway = new Gateway({ tokenizer, parser: () => parser, model: "policy", port: options.port });
  const write = (exchanges: readonly Exchange[]): void =>
    out.add(trajectoriesOf(exchanges).map((trajectory) => rowOf(trajectory, tokenizer)));
  try {
    // A port that is taken is told before the weights are read; nobody has the key yet.
    const { session, baseURL, apiKey } = await gateway.open({
      rollout,
      sampling: {
        temperature: options.temperature,
        top_k: -1,
        top_p: 1,
        max_tokens: options.maxTokens ?? contextLength,
        stop_token_ids: [],
        seed: options.seed,
      },
      choosesSampling: true,
      contextLength,
      maxRequests: Infinity,
      log: ctx.logger,
    });
    const sweep = setInterval(() => write(session.takeIdle(Date.now() - options.idle * 1000)), SWEEP_MS);
    try {
      await tryOut(rollout, tokenizer);
      // Where the weights cannot be read, no empty file is left behind.
      out.open();
      if (options.json) ctx.print(JSON.stringify({ baseURL, apiKey, model: "policy", out: out.path }));
      else ctx.print(`OPENAI_BASE_URL=${baseURL}\nOPENAI_API_KEY=${apiKey}`);
      ctx.logger.info(`Serving ${folder}. Ctrl-C writes what is left to ${out.path}, and ends.`);
      if (!ctx.signal.aborted) await once(ctx.signal, "abort");
    } finally {
      clearInterval(sweep);
      await gateway.close(session);
    }
    write(session.exchanges);
    out.close();
  } finally {
    rollout.dispose();
  }
}

/** @throws by `--format` what the parser says of the config's key. */
function openParser(container: RunContainer, format: string): ToolParser {
  try {
    return container.create("tool_parser", format);
  } catch (error) {
    if (!isVerlError(error) || error.code !== "VERL_AGENT_TOOL_FORMAT") throw error;
    const keys = registries.tool_parser.keys().filter((key) => key !== format);
    throw new VerlError(error.code, error.message, { hint: `Name it by --format: ${keys.join(", ")}.`, cause: error });
  }
}

/** Reads the weights, so that a folder without any is told before the first request. */
async function tryOut(rollout: RolloutEngine, { eosTokenId }: Tokenizer): Promise<void> {
  const sampling = { temperature: 0, top_k: -1, top_p: 1, max_tokens: 1, stop_token_ids: [], seed: 0 };
  await rollout.generate(Int32Array.of(eosTokenId), sampling);
}

/** Tokens that the model can read and write in all. */
async function contextLengthOf(folder: string): Promise<number> {
  const file = join(folder, "config.json");
  try {
    const config = JSON.parse(await readFile(file, "utf8")) as { max_position_embeddings?: unknown };
    if (Number.isSafeInteger(config.max_position_embeddings)) return Number(config.max_position_embeddings);
  } catch (cause) {
    throw new VerlError("VERL_CLI_FILE", `The file ${file} cannot be used: ${(cause as Error).message}`, {
      location: { file },
      hint: MODEL_FILES,
      cause,
    });
  }
  throw new VerlError("VERL_CLI_FILE", `The file ${file} has no max_position_embeddings.`, {
    location: { file },
    hint: "It is a whole number: the tokens that the model can read and write in all. Copy the file again from where the model came.",
  });
}

/** As rows of rollouts.jsonl; per-token lists cover the response alone. */
function rowOf({ promptIds, segments, stopReason, numTurns, weightVersion }: Trajectory, tokenizer: Tokenizer): object {
  const ids = segments.flatMap((segment) => [...segment.ids]);
  return {
    input: tokenizer.decode(promptIds),
    output: tokenizer.decode(ids),
    prompt_ids: [...promptIds],
    response_ids: ids,
    mask: segments.flatMap((segment) => Array.from(segment.ids, () => Number(segment.trainable))),
    rollout_log_probs: segments.flatMap(({ ids: own, logprobs }) => Array.from(own, (_, at) => logprobs?.[at] ?? 0)),
    weight_version: weightVersion,
    num_turns: numTurns,
    stop_reason: stopReason,
  };
}

function folderPath(text: string): string {
  if (text.trim() !== "") return text;
  throw new InvalidArgumentError("It is the path of a folder.");
}

const wholeNumber =
  (min: number, max: number) =>
  (text: string): number => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It is a whole number from ${min} to ${max}.`);
  };

function positive(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && value >= 0 && Number.isFinite(value)) return value;
  throw new InvalidArgumentError("It is a number, 0 or more.");
}
