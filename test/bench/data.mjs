import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  createLogger,
  createRng,
  inferSchema,
  loadPlugins,
  loadTokenizer,
  measurePrompts,
  readParquet,
  registries,
  writeParquet,
} from "verl";
import { writeByteBpe } from "./support/byte-bpe.mjs";

const ROWS = 200_000;
const RUNS = 5;
/** Prompts beyond this are dropped: about a tenth of them. */
const LIMIT = 110;

const here = fileURLToPath(new URL(".", import.meta.url));
const root = join(here, "../..");
const CORPUS = ["plugins/README.md", "core/config/ppo_trainer.yaml", "ARCHITECTURE.md"].map((file) => join(root, file));

/** Rows in verl's columns, each with texts of its own. */
function makeRows() {
  const rng = createRng(0).stream("bench/data");
  const words =
    "the policy learns to sort its answers by reward and reads each token once before a batch is drawn".split(" ");
  const sentence = (count) => Array.from({ length: count }, () => words[rng.below(words.length)]).join(" ");
  return Array.from({ length: ROWS }, (_, index) => {
    const question = `${index}: ${sentence(15 + rng.below(60))}?`;
    return {
      data_source: "openai/gsm8k",
      prompt: [
        { role: "user", content: `${question} Let's think step by step and output the final answer after "####".` },
      ],
      ability: "math",
      reward_model: { style: "rule", ground_truth: String(index * 7) },
      extra_info: { split: "train", index, question, answer: `It is ${index * 7}. #### ${index * 7}` },
    };
  });
}

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];

async function secondsOf(work) {
  const start = performance.now();
  await work();
  return (performance.now() - start) / 1000;
}

/** Seconds that the cores were busy, all threads together: what other work on the machine leaves alone. */
async function cpuSecondsOf(work) {
  const start = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1e6;
}

/** 200,000 rows: reading them, beside pyarrow, and leaving out the prompts that are too long, on all cores. */
export default async function bench(report) {
  const folder = mkdtempSync(join(tmpdir(), "verl-bench-data-"));
  process.env.VERL_CACHE_DIR = join(folder, "cache");
  try {
    const file = join(folder, "rows.parquet");
    const rows = makeRows();
    await writeParquet(file, rows, inferSchema(rows));
    await benchReading(report, file);
    await benchFilter(report, file, join(folder, "model"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function benchReading(report, file) {
  const times = [];
  for (let run = 0; run < RUNS; run++) times.push(await secondsOf(() => readParquet(file)));
  const ours = median(times);
  report.row({ name: `read ${ROWS} rows of parquet to objects`, value: ours, unit: "s" });
  const python = pythonWithPyarrow();
  if (python === "") return;
  const theirs = JSON.parse(execFileSync(python, [join(here, "data.py"), file, String(RUNS)], { encoding: "utf8" }));
  for (const [name, seconds] of Object.entries(theirs))
    report.row({
      name: "the same file",
      value: seconds,
      unit: "s",
      ratio: seconds / ours,
      versus: `${name}; of them to verl's time`,
    });
}

async function benchFilter(report, file, model) {
  writeByteBpe(model, CORPUS, 1500);
  const tokenizer = await loadTokenizer(model);
  const prompts = (await readParquet(file)).map(({ prompt }) => ({ messages: prompt, tools: [] }));
  const fault = (_, error) => error;
  const cores = availableParallelism();
  let alone = 0;
  for (const workers of [1, cores]) {
    rmSync(process.env.VERL_CACHE_DIR, { recursive: true, force: true });
    let seconds = 0;
    const busy = await cpuSecondsOf(async () => {
      seconds = await secondsOf(() => measurePrompts(tokenizer, prompts, { workers, fault }));
    });
    if (workers === 1) alone = seconds;
    const name = `measure ${ROWS} prompts, ${workers === 1 ? "1 thread" : `${workers} threads`}`;
    const beside = workers === 1 ? {} : { ratio: alone / seconds, versus: "1 thread" };
    report.row({ name, value: seconds, unit: "s", ...beside });
    report.row({ name: `${name}: cores busy`, value: busy, unit: "s" });
  }
  let tokens = 0;
  const again = await secondsOf(async () => {
    for (const length of await measurePrompts(tokenizer, prompts, { fault })) tokens += length;
  });
  report.row({ name: "the same again, from the cache", value: again, unit: "s" });
  report.row({ name: "tokens of a prompt, mean", value: tokens / ROWS, unit: "tokens" });
  report.row({
    name: "load the dataset, overlong prompts left out, from nothing",
    ...(await benchDataset(file, tokenizer)),
  });
}

/** All that a run does with the file before its first step. */
async function benchDataset(file, tokenizer) {
  await loadPlugins([]);
  rmSync(process.env.VERL_CACHE_DIR, { recursive: true, force: true });
  const { create: RlhfDataset } = registries.dataset.resolve("rlhf");
  const config = {
    data: {
      prompt_key: "prompt",
      reward_fn_key: "data_source",
      max_prompt_length: LIMIT,
      filter_overlong_prompts: true,
      filter_overlong_prompts_workers: null,
      truncation: "error",
      apply_chat_template_kwargs: {},
    },
    reward_model: { reward_manager: "naive" },
    custom_reward_function: { path: null },
  };
  const source = { files: [file], maxSamples: -1, shuffle: false };
  const dataset = new RlhfDataset(config, source, tokenizer, createRng(0), createLogger({ write: () => undefined }));
  const value = await secondsOf(() => dataset.load());
  return { value, unit: "s", versus: `${ROWS - dataset.length} rows left out` };
}

/** Path of a Python that has pyarrow, made once in .venv/bench-data; "" when none can be made. */
function pythonWithPyarrow() {
  const venv = join(root, ".venv/bench-data");
  const python = join(venv, "bin/python");
  const quiet = { stdio: ["ignore", "ignore", "ignore"] };
  try {
    if (!existsSync(python)) {
      console.error("Making .venv/bench-data with pyarrow and datasets, once …");
      execFileSync("python3", ["-m", "venv", venv], quiet);
      execFileSync(python, ["-m", "pip", "install", "--quiet", "pyarrow"], quiet);
      try {
        execFileSync(python, ["-m", "pip", "install", "--quiet", "--retries", "0", "datasets"], quiet);
      } catch {
        console.error("The package datasets cannot be had here; pyarrow is the comparison alone.");
      }
    }
    execFileSync(python, ["-c", "import pyarrow"], quiet);
    return python;
  } catch (error) {
    console.error(`No pyarrow to compare with: ${error.message}`);
    return "";
  }
}
