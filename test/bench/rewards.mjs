import { fileURLToPath } from "node:url";
import { createScorer, loadPlugins, loadScoreFunctions } from "verl";

const FOLDER = fileURLToPath(new URL("support/rewards/", import.meta.url));
const ROUNDS = 5;

const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
const callOf = (solution_str) => ({
  of: 0,
  input: { data_source: "bench", solution_str, ground_truth: "1", extra_info: {} },
});

async function scorerOf(name, pool, timeoutS = 60) {
  const functions = await loadScoreFunctions({ path: "score.mjs", name, reward_kwargs: {} }, FOLDER);
  const scorer = createScorer([functions], { timeoutS, maxConcurrent: 1, pool });
  await scorer.start();
  return scorer;
}

const poolOf = (workers, isolation = "process") => ({ workers, isolation, memoryLimitMb: 128 });

async function seconds(work) {
  const start = performance.now();
  await work();
  return (performance.now() - start) / 1000;
}

/** The pool of reward functions: how it scales, what a call costs, what faults cost, and what is left after many calls. */
export default async function bench(report) {
  await loadPlugins([]);
  await scaling(report);
  await dispatch(report);
  await faults(report);
  await soak(report);
}

/** CPU-bound functions, in this thread and on two workers, side by side in every round. */
async function scaling(report) {
  const calls = Array.from({ length: 200 }, (_, i) => callOf(String(i)));
  for (const isolation of ["process", "thread"]) {
    const [inline, pooled] = [await scorerOf("heavy"), await scorerOf("heavy", poolOf(2, isolation))];
    for (const scorer of [inline, pooled]) await scorer.run(calls.slice(0, 20));
    const times = { inline: [], pooled: [] };
    for (let round = 0; round < ROUNDS; round++) {
      times.inline.push(await seconds(() => inline.run(calls)));
      times.pooled.push(await seconds(() => pooled.run(calls)));
    }
    await pooled.dispose();
    const [alone, both] = [median(times.inline), median(times.pooled)];
    report.row({
      name: `CPU-bound function, two of a ${isolation} each`,
      value: calls.length / both,
      unit: "samples/s",
      ratio: alone / both,
      versus: "this thread alone (at least 1.8)",
    });
  }
}

/** Functions that do next to nothing. */
async function dispatch(report) {
  const calls = Array.from({ length: 2000 }, (_, i) => callOf(String(i)));
  for (const isolation of ["process", "thread"]) {
    const scorer = await scorerOf("light", poolOf(2, isolation));
    await scorer.run(calls);
    const times = [];
    for (let round = 0; round < ROUNDS; round++) times.push(await seconds(() => scorer.run(calls)));
    await scorer.dispose();
    report.row({
      name: `trivial function, two of a ${isolation} each`,
      value: Math.round(calls.length / median(times)),
      unit: "samples/s",
    });
  }
}

/** 1,000 answers of which one loops, one throws, and one hoards memory. */
async function faults(report) {
  const scorer = await scorerOf("faulty", poolOf(2), 1);
  const answers = Array.from({ length: 1000 }, (_, i) => String(i));
  Object.assign(answers, { 100: "loop", 200: "throw", 300: "hoard" });
  let rewards;
  const time = await seconds(async () => (rewards = await scorer.run(answers.map(callOf))));
  await scorer.dispose();
  const scored = rewards.filter(({ rewards: [reward] }) => "score" in reward).length;
  if (scored !== 997) throw new Error(`${scored} of 997 answers have a score`);
  report.row({ name: "1,000 answers with a loop, a throw and a hoarder", value: time, unit: "s" });
}

/** 10,000 calls with a fault in every 1,000: what this process holds after the first and the last thousand. */
async function soak(report) {
  const scorer = await scorerOf("faulty", poolOf(2), 0.5);
  const held = [];
  const time = await seconds(async () => {
    for (let round = 0; round < 10; round++) {
      const answers = Array.from({ length: 1000 }, (_, i) => String(i));
      answers[500] = round % 2 === 0 ? "loop" : "throw";
      await scorer.run(answers.map(callOf));
      globalThis.gc?.();
      held.push(process.memoryUsage().rss / 2 ** 20);
    }
  });
  await scorer.dispose();
  report.row({ name: "10,000 calls", value: time, unit: "s" });
  report.row({ name: "memory after 10,000 calls, more than after 2,000", value: held.at(-1) - held[1], unit: "MiB" });
}
