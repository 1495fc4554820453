// What the demos share: their options, and running the command line as a user does. Nothing of an earlier run is deleted: `verl` sets it aside.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";

const root = join(import.meta.dirname, "..");

/**
 * SFT, then reinforcement learning, then a look at whether the target was reached.
 * @param name Folder of the example, and of its runs. @param makeData Its data. @param steps, expect Defaults of the options.
 * @param summary For `--help`. @param recipe Folder of the configs. Default: the example's. @param changes Overrides of its grpo.yaml.
 * @returns the validation and the steps done as `verl train --json` prints them, and the options.
 */
export async function runDemo({ name, recipe = name, changes = [], makeData, steps, expect, summary, command }) {
  const { values: options, positionals: overrides } = readArguments({ steps, expect, summary, command });
  const folder = `examples/${recipe}`;
  const runs = `runs/${name}/seed-${options.seed}`;
  const started = performance.now();
  const training = [`trainer.total_training_steps=${options.steps}`, ...changes, ...overrides];
  // A typo is told now, not after the first training.
  await verl(["config", "validate", `${folder}/grpo.yaml`, ...training], { quiet: true });

  const data = await makeData({ seed: Number(options.seed), out: join(root, runs, "data") });
  console.log(
    `Made ${data.train} prompts, ${data.validation} held-out problems and ${data.demonstrations} demonstrations.`,
  );
  const again = `trainer.resume_mode=${options.resume ? "auto" : "disable"}`;
  const seed = ["--seed", options.seed, "--json"];
  console.log(`\n$ verl sft ${folder}/sft.yaml --seed ${options.seed}`);
  // Its model is written at the end, and SFT of a minute has no checkpoints to go on from.
  if (options.resume && existsSync(join(root, runs, "sft/huggingface/config.json"))) {
    console.log("It was complete already.");
  } else {
    await verl([
      "sft",
      `${folder}/sft.yaml`,
      `data.train_files=${runs}/data/sft.parquet`,
      `trainer.default_local_dir=${runs}/sft`,
      again,
      ...seed,
    ]);
  }
  console.log(`\n$ verl train ${folder}/grpo.yaml --seed ${options.seed}`);
  const printed = await verl([
    "train",
    `${folder}/grpo.yaml`,
    `data.train_files=${runs}/data/train.parquet`,
    `data.val_files=${runs}/data/validation.parquet`,
    `actor_rollout_ref.model.path=${runs}/sft/huggingface`,
    `trainer.default_local_dir=${runs}/grpo`,
    again,
    ...training,
    ...seed,
  ]);
  const seconds = ((performance.now() - started) / 1000).toFixed(0);
  const { validation, step } = JSON.parse(printed);
  return { validation, step, options, seconds };
}

/** Tells the accuracy, and ends with exit code 1 below the target. */
export function tellAccuracy({ validation, step, options, seconds }, also = "") {
  const accuracy = measured(validation, "reward");
  if (accuracy === undefined) return console.log("\nThe run was complete already: nothing was trained or validated.");
  console.log(`\nHeld-out accuracy ${accuracy.toFixed(3)}${also} after ${step} steps; ${seconds} s in all.`);
  if (accuracy >= Number(options.expect)) return;
  console.error(`That is below the target of ${options.expect}.`);
  process.exitCode = 1;
}

/** A validation metric, whatever its data source. */
export const measured = (validation, name) =>
  validation[Object.keys(validation).find((key) => key.endsWith(`/${name}/mean@1`))];

function readArguments({ steps, expect, summary, command }) {
  const options = {
    seed: { type: "string", default: "0" },
    steps: { type: "string", default: String(steps) },
    expect: { type: "string", default: String(expect) },
    resume: { type: "boolean", default: false },
    help: { type: "boolean", short: "h" },
  };
  const read = parse({ allowPositionals: true, options }, command);
  if (read.values.help) {
    console.log(`Usage: ${command} [options] [overrides]
${summary}

  --seed N        seed of the data, the weights and the sampling (default 0)
  --steps N       GRPO steps (default ${steps})
  --expect A      held-out accuracy below which the exit code is 1 (default ${expect})
  --resume        go on with an interrupted run of this seed; otherwise an earlier one is set aside
  overrides       of grpo.yaml, for example actor_rollout_ref.rollout.n=16`);
    process.exit(0);
  }
  for (const [option, rule, what] of [
    ["seed", /^\d{1,9}$/, "a whole number"],
    ["steps", /^[1-9]\d{0,6}$/, "a whole number of at least 1"],
    ["expect", /^(0|1|0?\.\d+)$/, "a number from 0 to 1"],
  ]) {
    if (!rule.test(read.values[option])) refuse(`--${option} is ${what}, not "${read.values[option]}"`, command);
  }
  return read;
}

function parse(config, command) {
  try {
    return parseArgs(config);
  } catch (error) {
    return refuse(error.message, command);
  }
}

function refuse(problem, command) {
  console.error(`${problem}.\nRun \`${command} --help\`.`);
  process.exit(2);
}

/** Runs the command line to its end and returns what it prints; Ctrl-C is its own, and it ends in its own time. */
export async function verl(args, { quiet = false } = {}) {
  const wait = () => undefined;
  process.on("SIGINT", wait);
  const child = spawn(process.execPath, [join(root, "dist/bin.js"), ...args], {
    cwd: root,
    stdio: ["inherit", "pipe", "inherit"],
  });
  let printed = "";
  child.stdout.setEncoding("utf8").on("data", (text) => (printed += text));
  const [code, signal] = await new Promise((resolve) => child.on("close", (...ended) => resolve(ended)));
  process.off("SIGINT", wait);
  if (code === 0) return printed;
  if (code === 130 && !quiet) console.error("The demo goes on from there with --resume.");
  process.exit(code ?? (signal ? 130 : 1));
}
