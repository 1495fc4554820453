// Grade-school sums as prompts: `node examples/data/gsm8k.mjs [sums.jsonl [train.parquet]]`, a line { question, answer: "… #### 72" }.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { inferSchema, readRows, writeParquet } from "verl";

const INSTRUCTION = `Let's think step by step and output the final answer after "####".`;
const SUMS = join(import.meta.dirname, "sums.jsonl");

export async function preprocess(input, output = "train.parquet", split = "train") {
  const rows = (await readRows(input)).map(({ question, answer }, index) => ({
    data_source: "openai/gsm8k",
    prompt: [{ role: "user", content: `${question} ${INSTRUCTION}` }],
    ability: "math",
    reward_model: { style: "rule", ground_truth: answer.split("####").at(-1).trim().replaceAll(",", "") },
    extra_info: { split, index, question, answer },
  }));
  await writeParquet(output, rows, inferSchema(rows));
  return rows.length;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href)
  console.log(`Wrote ${await preprocess(process.argv[2] ?? SUMS, ...process.argv.slice(3))} prompts.`);
