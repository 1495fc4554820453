import { resolve } from "node:path";
import type { Command } from "commander";
import type { PpoConfig, SftConfig } from "../config/index.ts";
import { loadRunConfig } from "../config/index.ts";
import { readRows } from "../data/index.ts";
import { VerlError } from "../errors/index.ts";
import type { CliContext } from "./command.ts";
import { addConfigOptions, loadOptions, type ConfigOptions } from "./config-options.ts";
import { isGiven } from "./is-given.ts";
import { checkConversations } from "./data-check-sft.ts";
import { checkPrompts } from "./data-check-rl.ts";
import { showCheck, type DataCheck } from "./data-check-report.ts";

interface Options extends ConfigOptions {
  sft?: boolean;
  answers?: string;
  json?: boolean;
}

/** `verl data check`: whether a run could train on a file, before it starts. */
export function configureCheck(self: Command, ctx: CliContext): void {
  addConfigOptions(
    self
      .description("Check a dataset file as a run would read it: columns, lengths, duplicates, ground truths, rewards")
      .argument("<file>", "parquet, JSON Lines or JSON"),
  )
    .option("--sft", "rows are conversations for `verl sft`")
    .option("--answers <column>", "score the answers in this column (`extra_info.answer`) as a dry run of the reward")
    .option("--json", "print the report as JSON; stdout has nothing else, and what your code prints goes to stderr")
    .addHelpText(
      "after",
      `
The model's tokenizer and template, the limits, the tools and the reward come from the config, as for \`verl train\`.
The exit code is 2 when there are errors.

Examples:
  verl data check train.parquet -c run.yaml
  verl data check train.parquet actor_rollout_ref.model.path=models/qwen3 data.max_prompt_length=512
  verl data check train.parquet -c run.yaml --answers extra_info.answer --json
  verl data check chats.jsonl --sft model.path=models/qwen3`,
    )
    .action(async (given: string, args: string[], options: Options) => {
      const file = resolve(ctx.cwd, given);
      const check = options.sft ? await checkSft(file, args, options, ctx) : await checkRl(file, args, options, ctx);
      const report: DataCheck = { ...check, file: given };
      ctx.print(options.json ? JSON.stringify(report, null, 2) : showCheck(report));
      const errors = report.findings.filter(({ level }) => level === "error");
      if (errors.length === 0) return;
      throw new VerlError(
        "VERL_DATA_PROBLEMS",
        `${errors.length === 1 ? "One check" : `${errors.length} checks`} of the data failed; the report names the rows.`,
        {
          location: { file: given },
          hint: "Mend the rows, or the config that they are read by.",
          details: { checks: errors.map(({ check: name, count }) => ({ check: name, rows: count })) },
        },
      );
    });
}

async function checkRl(file: string, args: readonly string[], options: Options, ctx: CliContext): Promise<DataCheck> {
  const loaded = await loadRunConfig(loadOptions("ppo", args, options, ctx));
  const hasModel = isGiven(loaded, "actor_rollout_ref.model.path") || isGiven(loaded, "data.tokenizer");
  const config: PpoConfig = loaded.config;
  return checkPrompts(await readRows(file), { file, config, hasModel, answers: options.answers, ctx });
}

async function checkSft(file: string, args: readonly string[], options: Options, ctx: CliContext): Promise<DataCheck> {
  const loaded = await loadRunConfig(loadOptions("sft", args, options, ctx));
  const config: SftConfig = loaded.config;
  const hasModel = isGiven(loaded, "model.path");
  return checkConversations(await readRows(file), { file, config, hasModel, ctx });
}
