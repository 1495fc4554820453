// The same run in two layouts: `npm run build:code && node examples/layouts/demo.mjs`. All roles on the same ranks, then each on its own;
// the target is that no step's mean score differs by more than rounding can do to a few answers.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { verl } from "../demo.mjs";
import { makeData } from "../sort-letters/make-data.mjs";

/** Of a score between 0 and 1, the mean over 1024 answers: ten of them may differ by a token. */
const TARGET = 0.01;

const root = join(import.meta.dirname, "../..");
const runs = "runs/layouts";

await makeData({ seed: 0, out: join(root, runs, "data") });
console.log("\n$ verl sft examples/sort-letters/sft.yaml");
await verl([
  "sft",
  "examples/sort-letters/sft.yaml",
  `data.train_files=${runs}/data/sft.parquet`,
  `trainer.default_local_dir=${runs}/sft`,
  "trainer.resume_mode=disable",
  "--json",
]);

/** The mean score of each step. */
async function scoresOf(layout) {
  console.log(`\n$ verl train examples/layouts/${layout}.yaml`);
  await verl([
    "train",
    `examples/layouts/${layout}.yaml`,
    `data.train_files=${runs}/data/train.parquet`,
    `data.val_files=${runs}/data/validation.parquet`,
    `actor_rollout_ref.model.path=${runs}/sft/huggingface`,
    "trainer.resume_mode=disable",
    "--json",
  ]);
  const lines = (await readFile(join(root, runs, layout, "metrics.jsonl"), "utf8")).trim().split("\n");
  return lines.map((line) => JSON.parse(line).data["critic/score/mean"]);
}

const together = await scoresOf("together");
const apart = await scoresOf("apart");
const gap = Math.max(...together.map((score, step) => Math.abs(score - apart[step])));
console.log("\nstep  together  apart");
together.forEach((score, step) => {
  console.log(`${String(step + 1).padStart(4)}  ${score.toFixed(4).padStart(8)}  ${apart[step].toFixed(4)}`);
});
console.log(`Largest difference ${gap.toExponential(1)}; the target is at most ${TARGET}.`);
if (!(gap <= TARGET) || together.length !== apart.length) process.exitCode = 1;
