// `node examples/tool-calculator/demo.mjs [--seed N --steps N --expect ACCURACY overrides…]`, after `npm run build`.
// Runs what a user would type: make-data, `verl sft`, `verl train`; then tells whether the target was reached.
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { makeData } from "./make-data.mjs";

const root = join(import.meta.dirname, "../..");
const { values: options, positionals: overrides } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: "string", default: "0" },
    steps: { type: "string", default: "60" },
    expect: { type: "string", default: "0.95" },
    help: { type: "boolean", short: "h" },
  },
});
if (options.help) {
  console.log(`Usage: node examples/tool-calculator/demo.mjs [options] [overrides]
Trains a language model of 336,256 parameters to add by a calculator: 100 steps of SFT on 200 answers, then GRPO through the tool agent.

  --seed N        seed of the data, the weights and the sampling (default 0)
  --steps N       GRPO steps (default 60)
  --expect A      held-out accuracy below which the exit code is 1 (default 0.95)
  overrides       of grpo.yaml, for example actor_rollout_ref.rollout.n=16`);
  process.exit(0);
}

const started = performance.now();
const runs = `runs/tool-calculator/seed-${options.seed}`;
rmSync(join(root, runs), { recursive: true, force: true });

const data = await makeData({ seed: Number(options.seed), out: join(root, runs, "data") });
console.log(
  `Made ${data.train} prompts, ${data.validation} held-out problems and ${data.demonstrations} demonstrations.`,
);

verl("sft", "examples/tool-calculator/sft.yaml", [
  `data.train_files=${runs}/data/sft.parquet`,
  `trainer.default_local_dir=${runs}/sft`,
]);
const { validation } = verl("train", "examples/tool-calculator/grpo.yaml", [
  `data.train_files=${runs}/data/train.parquet`,
  `data.val_files=${runs}/data/validation.parquet`,
  `actor_rollout_ref.model.path=${runs}/sft/huggingface`,
  `trainer.default_local_dir=${runs}/grpo`,
  `trainer.total_training_steps=${options.steps}`,
  ...overrides,
]);

const measured = (name) => validation[Object.keys(validation).find((key) => key.endsWith(`/${name}/mean@1`))];
const seconds = ((performance.now() - started) / 1000).toFixed(0);
console.log(
  `\nHeld-out accuracy ${measured("reward").toFixed(3)}, calls ${measured("called").toFixed(3)} after ${options.steps} steps; ${seconds} s in all.`,
);
if (measured("reward") < Number(options.expect)) {
  console.error(`That is below the target of ${options.expect}.`);
  process.exitCode = 1;
}

/** Runs the command line as a user does and returns what `--json` prints. */
function verl(command, config, args) {
  console.log(`\n$ verl ${command} ${config} --seed ${options.seed}`);
  const { status, stdout } = spawnSync(
    process.execPath,
    [join(root, "dist/bin.js"), command, config, ...args, "--seed", options.seed, "--json"],
    { cwd: root, stdio: ["inherit", "pipe", "inherit"], encoding: "utf8" },
  );
  if (status !== 0) process.exit(status ?? 1);
  return JSON.parse(stdout);
}
