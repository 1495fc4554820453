// Makes the example's data: `node examples/sort-letters/make-data.mjs [--seed 0] [--out examples/sort-letters/data]`.
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { createRng, writeParquet } from "verl";

const LETTERS = [..."abcdefghijklmnopqrstuvwxyz"];
const LENGTH = 5;
const HELD_OUT = 256;
const DEMONSTRATIONS = 100;
/** Demonstrations that hold a pair of neighbours in the alphabet, for each pair. */
const SHOWN = 4;
/** 150 steps of 128 prompts, each new. */
const PROMPTS = 150 * 128;

const MESSAGES = [{ role: "string", content: "string" }];
const PROMPT_SCHEMA = {
  data_source: "string",
  prompt: MESSAGES,
  ability: "string",
  reward_model: { style: "string", ground_truth: "string" },
  extra_info: { split: "string", index: "int64" },
};

/**
 * The problems of a seed. The 256 sets of letters that validation asks for are drawn first; whatever order their letters come in,
 * they occur in no other file.
 */
export function drawProblems(seed) {
  const rng = createRng(seed).stream("sort-letters");
  const heldOut = new Map();
  while (heldOut.size < HELD_OUT) {
    const problem = draw(rng);
    if (!heldOut.has(sorted(problem))) heldOut.set(sorted(problem), problem);
  }
  const fresh = (count) => {
    const problems = new Set();
    while (problems.size < count) {
      const problem = draw(rng);
      if (!heldOut.has(sorted(problem))) problems.add(problem);
    }
    return [...problems];
  };
  return { validation: [...heldOut.values()], demonstrations: demonstrate(fresh), train: fresh(PROMPTS) };
}

/**
 * Demonstrations that show each pair of neighbouring letters (`ij`) a few times. A hundred drawn blindly leave about one pair out, and
 * a policy that was never shown an order rarely tries it: it stays wrong on the one prompt in thirty that holds the pair.
 */
function demonstrate(fresh) {
  const left = new Map(LETTERS.slice(1).map((letter, index) => [LETTERS[index] + letter, SHOWN]));
  const shown = [];
  while ([...left.values()].some((count) => count > 0)) {
    const [problem] = fresh(1);
    const pairs = neighbours(problem);
    if (!pairs.some((pair) => left.get(pair) > 0)) continue;
    for (const pair of pairs) left.set(pair, left.get(pair) - 1);
    shown.push(problem);
  }
  return [...shown, ...fresh(DEMONSTRATIONS - shown.length)];
}

/** Pairs of the problem's letters that follow each other in the alphabet. */
function neighbours(problem) {
  const answer = sorted(problem);
  return [...answer.slice(1)]
    .map((letter, index) => answer[index] + letter)
    .filter((pair) => LETTERS.join("").includes(pair));
}

/** Writes `train.parquet`, `validation.parquet` (verl's columns) and `sft.parquet` (conversations). */
export async function makeData({ seed = 0, out = join(import.meta.dirname, "data") } = {}) {
  const { validation, demonstrations, train } = drawProblems(seed);
  await mkdir(out, { recursive: true });
  await writeParquet(join(out, "validation.parquet"), validation.map(row("validation")), PROMPT_SCHEMA);
  await writeParquet(join(out, "train.parquet"), train.map(row("train")), PROMPT_SCHEMA);
  await writeParquet(join(out, "sft.parquet"), demonstrations.map(conversation), { messages: MESSAGES });
  return { folder: out, train: train.length, validation: validation.length, demonstrations: demonstrations.length };
}

/** Five different letters in random order. */
const draw = (rng) =>
  rng
    .shuffle([...LETTERS])
    .slice(0, LENGTH)
    .join("");

const sorted = (problem) => [...problem].sort().join("");

const row = (split) => (problem, index) => ({
  data_source: "sort_letters",
  prompt: [{ role: "user", content: problem }],
  ability: "sorting",
  reward_model: { style: "rule", ground_truth: sorted(problem) },
  extra_info: { split, index },
});

const conversation = (problem) => ({
  messages: [
    { role: "user", content: problem },
    { role: "assistant", content: sorted(problem) },
  ],
});

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const { values } = parseArgs({ options: { seed: { type: "string", default: "0" }, out: { type: "string" } } });
  const { folder, train, validation, demonstrations } = await makeData({ seed: Number(values.seed), out: values.out });
  console.log(
    `Wrote ${demonstrations} demonstrations, ${train} prompts and ${validation} held-out prompts to ${folder}.`,
  );
}
