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
  maskConversations,
  measurePrompts,
  readParquet,
  registries,
  writeParquet,
} from "verl";
import { inPython } from "./support/python.mjs";
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

/** 200,000 rows: reading them, beside pyarrow, and leaving out the prompts that are too long, on all cores; and conversations for SFT. */
export default async function bench(report) {
  const folder = mkdtempSync(join(tmpdir(), "verl-bench-data-"));
  process.env.VERL_CACHE_DIR = join(folder, "cache");
  try {
    const file = join(folder, "rows.parquet");
    const some = await benchWriting(report, file);
    await benchReading(report, file);
    const model = join(folder, "model");
    writeByteBpe(model, CORPUS, 1500);
    const tokenizer = await loadTokenizer(model);
    await benchFilter(report, file, tokenizer, some);
    await benchConversations(report, tokenizer, some.slice(0, some.length / 4));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @returns a tenth of the rows; the others would only fill the memory in which the reading is timed. */
async function benchWriting(report, file) {
  const rows = makeRows();
  const seconds = await secondsOf(() => writeParquet(file, rows, inferSchema(rows)));
  report.row({ name: `write ${ROWS} rows of parquet`, value: seconds, unit: "s" });
  return rows.slice(0, ROWS / 10);
}

async function benchReading(report, file) {
  const times = [];
  for (let run = 0; run < RUNS; run++) times.push(await secondsOf(() => readParquet(file)));
  const ours = median(times);
  report.row({
    name: `read ${ROWS} rows of parquet to objects`,
    value: ours,
    unit: "s",
    ratio: 1 / ours,
    versus: "a second (at least 1)",
  });
  const python = pythonWithPyarrow();
  if (python === "") return;
  const theirs = inPython("data.py", [file, RUNS], python);
  for (const [name, seconds] of Object.entries(theirs))
    report.row({
      name: "the same file",
      value: seconds,
      unit: "s",
      ratio: seconds / ours,
      versus: `${name}; of them to verl's time`,
    });
}

const CORES = availableParallelism();
const fault = (_, error) => error;
const forget = () => rmSync(process.env.VERL_CACHE_DIR, { recursive: true, force: true });

/** One thread measures a part, since its rate is all that is asked; the run's own way goes over all rows, from nothing and from the cache. */
async function benchFilter(report, file, tokenizer, rows) {
  const part = rows.map(({ prompt }) => ({ messages: prompt, tools: [] }));
  let tokens = 0;
  const alone = await secondsOf(async () => {
    for (const length of await measurePrompts(tokenizer, part, { workers: 1, fault })) tokens += length;
  });
  report.row({ name: "measure prompts, 1 thread", value: part.length / alone, unit: "prompts/s" });
  report.row({ name: "tokens of a prompt, mean", value: tokens / part.length, unit: "tokens" });

  await loadPlugins([]);
  forget();
  const busyFrom = process.cpuUsage();
  const { seconds, left } = await loadFiltered(file, tokenizer);
  const { user, system } = process.cpuUsage(busyFrom);
  report.row({
    name: `load ${ROWS} rows, overlong prompts left out, ${CORES} threads`,
    value: seconds,
    unit: "s",
    ratio: 60 / seconds,
    versus: `a minute (at least 1); ${ROWS - left} left out`,
  });
  report.row({ name: "the same: cores busy", value: (user + system) / 1e6, unit: "s" });
  report.row({
    name: "the same: prompts",
    value: ROWS / seconds,
    unit: "prompts/s",
    ratio: (ROWS * alone) / (part.length * seconds),
    versus: "1 thread that measures alone",
  });
  const again = await loadFiltered(file, tokenizer);
  report.row({ name: "the same again, lengths from the cache", value: again.seconds, unit: "s" });
}

/** Conversations of two messages, each of which goes through the template twice. */
async function benchConversations(report, tokenizer, rows) {
  const conversations = rows.map(({ prompt, extra_info: { answer } }, row) => ({
    messages: [...prompt, { role: "assistant", content: answer }],
    tools: [],
    origin: { file: "rows", row },
  }));
  const times = {};
  for (const workers of [1, CORES])
    times[workers] = await secondsOf(() => maskConversations(tokenizer, conversations, { workers }));
  report.row({
    name: `tokenise conversations, ${CORES} threads`,
    value: conversations.length / times[CORES],
    unit: "conversations/s",
    ratio: times[1] / times[CORES],
    versus: "1 thread",
  });
}

/** All that a run does with the file before its first step. */
async function loadFiltered(file, tokenizer) {
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
    custom_reward_function: { path: null, name: "compute_score", reward_kwargs: {} },
  };
  const source = { files: [file], maxSamples: -1, shuffle: false };
  const dataset = new RlhfDataset(config, source, tokenizer, createRng(0), createLogger({ write: () => undefined }));
  const seconds = await secondsOf(() => dataset.load());
  return { seconds, left: dataset.length };
}

/** Path of a Python that has pyarrow, made once in .venv/bench-data; "" when none can be made. */
function pythonWithPyarrow() {
  const venv = join(root, ".venv/bench-data");
  const python = join(venv, "bin/python");
  const quiet = { stdio: ["ignore", "ignore", "ignore"] };
  try {
    if (!existsSync(python)) {
      console.error("Making .venv/bench-data with pyarrow, once …");
      execFileSync("python3", ["-m", "venv", venv], quiet);
      execFileSync(python, ["-m", "pip", "install", "--quiet", "pyarrow"], quiet);
    }
    execFileSync(python, ["-c", "import pyarrow"], quiet);
    return python;
  } catch (error) {
    console.error(`No pyarrow to compare with: ${error.message}`);
    return "";
  }
}
