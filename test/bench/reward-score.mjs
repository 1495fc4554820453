import { Bench } from "tinybench";
import builtIns from "verl/plugins";

const SAMPLES = 1000;
/** Text before the answer, as long as a model's. */
const THOUGHT = "We add the two amounts, so 12 + 30 = 42 dollars, and check it once more. ".repeat(25);

const entryOf = (key) => builtIns.provides.find((item) => item.kind === "reward_score" && item.key === key).entry;

const CASES = [
  ["gsm8k", (i) => `#### ${i}`, (i) => `${i - (i % 2)}`],
  ["math_reward", (i) => `\\boxed{\\frac{${i}}{7}}`, (i) => `\\frac{${i - (i % 2)}}{7}`],
  ["prime_math", (i) => `The answer is \\boxed{\\frac{${i}}{7}x + 1}.`, (i) => `1+\\frac{${i - (i % 2)}}{7}x`],
];

/** Answers of 1,900 characters a second, on one core; half of them are right. */
export default async function bench(report) {
  for (const [key, answer, truth] of CASES) {
    const entry = entryOf(key);
    const inputs = Array.from({ length: SAMPLES }, (_, i) => ({
      data_source: key,
      solution_str: THOUGHT + answer(i),
      ground_truth: truth(i),
      extra_info: {},
    }));
    for (const mode of ["verl", "strict"]) {
      const timer = new Bench({ time: 500, iterations: 5, warmupIterations: 2, warmupTime: 0 });
      timer.add(key, async () => {
        for (const input of inputs) await entry.score({ ...input, mode });
      });
      await timer.run();
      const [task] = timer.tasks;
      if (task.result.state === "errored") throw task.result.error;
      const value = Math.round(SAMPLES / (task.result.latency.p50 / 1000));
      report.row({ name: `${key}, ${mode}`, value, unit: "samples/s" });
    }
  }
}
