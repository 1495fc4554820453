// Makes the example's data: `node examples/sort-letters/make-data.mjs [--seed 0] [--out examples/sort-letters/data]`.
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { createRng, inferSchema, writeParquet } from "verl";

const LETTERS = [..."abcdefghijklmnopqrstuvwxyz"];
const LENGTH = 5;
const HELD_OUT = 256;
const DEMONSTRATIONS = 100;
/** Problems that each demonstration is chosen from. */
const CHOICES = 16;
/** 150 steps of 128 prompts, each new. */
const PROMPTS = 150 * 128;

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
 * Demonstrations that show every letter, and every pair of near ones (`ij`, `ik`, `il`), about equally often: each is the one of a few problems
 * that shows most of what was shown least. A hundred drawn blindly leave pairs out, and a policy that was never shown an order rarely
 * tries it: it stays wrong on the prompts that need it.
 */
function demonstrate(fresh) {
  const times = new Map();
  const rarity = (problem) => parts(problem).reduce((sum, part) => sum + 1 / (1 + (times.get(part) ?? 0)) ** 2, 0);
  return Array.from({ length: DEMONSTRATIONS }, () => {
    const chosen = fresh(CHOICES).reduce((best, problem) => (rarity(problem) > rarity(best) ? problem : best));
    for (const part of parts(chosen)) times.set(part, (times.get(part) ?? 0) + 1);
    return chosen;
  });
}

/** The problem's letters, and its pairs that lie up to three places apart in the alphabet and follow each other in the answer. */
function parts(problem) {
  const places = [...sorted(problem)].map((letter) => LETTERS.indexOf(letter));
  const pairs = places.slice(1).map((place, index) => [places[index], place]);
  return [...places, ...pairs.filter(([first, second]) => second - first <= 3)].map(String);
}

/** Writes `train.parquet`, `validation.parquet` (verl's columns) and `sft.parquet` (conversations). */
export async function makeData({ seed = 0, out = join(import.meta.dirname, "data") } = {}) {
  const { validation, demonstrations, train } = drawProblems(seed);
  await mkdir(out, { recursive: true });
  const write = (name, rows) => writeParquet(join(out, `${name}.parquet`), rows, inferSchema(rows));
  await write("validation", validation.map(row("validation")));
  await write("train", train.map(row("train")));
  await write("sft", demonstrations.map(conversation));
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
