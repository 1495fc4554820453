// Makes the example's data: `node examples/tool-calculator/make-data.mjs [--seed 0] [--out examples/tool-calculator/data]`.
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { createRng, inferSchema, writeParquet } from "verl";

/** Both numbers of a sum, so that every sum has three digits: results of one width cannot be copied by a fixed offset alone. */
const LEAST = 100;
const MOST = 499;
const HELD_OUT = 256;
const DEMONSTRATIONS = 200;
/** Of the demonstrations: calls of the calculator, and of a tool that does not exist; the others answer at once. */
const CALLS = 0.5;
const MISTAKEN_CALLS = 0.1;
/** Sums that each demonstrated call is chosen from. */
const CHOICES = 16;
/** 80 steps of 64 prompts, each new. */
const PROMPTS = 80 * 64;

/** The problems of a seed, as pairs of numbers. The 256 pairs that validation asks for occur in no other file. */
export function drawProblems(seed) {
  const rng = createRng(seed).stream("tool-calculator");
  const drawn = new Set();
  const fresh = (count) => {
    const pairs = [];
    while (pairs.length < count) {
      const pair = [draw(rng), draw(rng)];
      if (drawn.has(pair.join("+"))) continue;
      drawn.add(pair.join("+"));
      pairs.push(pair);
    }
    return pairs;
  };
  const validation = fresh(HELD_OUT);
  const calls = spread(DEMONSTRATIONS * CALLS, () => fresh(CHOICES));
  const demonstrations = [...calls, ...fresh(DEMONSTRATIONS - calls.length)];
  return { validation, demonstrations: rng.shuffle(demonstrations.map(demonstrate)), train: fresh(PROMPTS) };
}

/**
 * Sums that show every digit at every place, of the question and of the result, about equally often: each is the one of a few that shows
 * most of what was shown least. A call copies six digits and an answer three, and one that was never copied is a wrong answer each time.
 */
function spread(count, candidates) {
  const times = new Map();
  const rarity = (pair) => digits(pair).reduce((sum, digit) => sum + 1 / (1 + (times.get(digit) ?? 0)) ** 2, 0);
  return Array.from({ length: count }, () => {
    const chosen = candidates().reduce((best, pair) => (rarity(pair) > rarity(best) ? pair : best));
    for (const digit of digits(chosen)) times.set(digit, (times.get(digit) ?? 0) + 1);
    return chosen;
  });
}

/** The nine digits of a sum, each with its place. */
const digits = ([a, b]) => [...`${a}${b}${a + b}`].map((digit, place) => `${place}:${digit}`);

/** Writes `train.parquet`, `validation.parquet` (verl's columns) and `sft.parquet` (conversations). */
export async function makeData({ seed = 0, out = join(import.meta.dirname, "data") } = {}) {
  const { validation, demonstrations, train } = drawProblems(seed);
  await mkdir(out, { recursive: true });
  const write = (name, rows) => writeParquet(join(out, `${name}.parquet`), rows, inferSchema(rows));
  await write("validation", validation.map(row("validation")));
  await write("train", train.map(row("train")));
  await write("sft", demonstrations);
  return { folder: out, train: train.length, validation: validation.length, demonstrations: demonstrations.length };
}

const draw = (rng) => LEAST + (rng.nextU32() % (MOST - LEAST + 1));

const row =
  (split) =>
  ([a, b], index) => ({
    data_source: "sums",
    prompt: [{ role: "user", content: `${a}+${b}` }],
    ability: "arithmetic",
    reward_model: { style: "rule", ground_truth: String(a + b) },
    extra_info: { split, index },
  });

/** The same shares in every seed: the start of the training depends on them. */
function demonstrate([a, b], index) {
  const [question, answer] = [
    { role: "user", content: `${a}+${b}` },
    { role: "assistant", content: `=${a + b}` },
  ];
  const call = (tool) => ({
    role: "assistant",
    content: `<tool_call>{"name":"${tool}","arguments":{"e":"${a}+${b}"}}</tool_call>`,
  });
  const share = index / DEMONSTRATIONS;
  if (share < CALLS) return { messages: [question, call("calc"), { role: "tool", content: String(a + b) }, answer] };
  if (share < CALLS + MISTAKEN_CALLS)
    return { messages: [question, call("search"), { role: "tool", content: "?" }, answer] };
  return { messages: [question, answer] };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const { values } = parseArgs({ options: { seed: { type: "string", default: "0" }, out: { type: "string" } } });
  const { folder, train, validation, demonstrations } = await makeData({ seed: Number(values.seed), out: values.out });
  console.log(
    `Wrote ${demonstrations} demonstrations, ${train} prompts and ${validation} held-out prompts to ${folder}.`,
  );
}
