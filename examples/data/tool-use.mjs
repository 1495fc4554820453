// The same sums for a policy that may call a tool while it works: `node examples/data/tool-use.mjs [sums.jsonl [train.parquet]]`.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { inferSchema, readRows, writeParquet } from "verl";

const SYSTEM = "You solve sums. Check your answer with the tool `calc_gsm8k_reward` before you give it after ####.";
const SUMS = join(import.meta.dirname, "sums.jsonl");

export async function preprocess(input, output = "train.parquet", split = "train") {
  const rows = (await readRows(input)).map(({ question, answer }, index) => {
    const ground_truth = answer.split("####").at(-1).trim().replaceAll(",", "");
    const prompt = [SYSTEM, question].map((content, turn) => ({ role: turn === 0 ? "system" : "user", content }));
    const tools_kwargs = { calc_gsm8k_reward: { create_kwargs: { ground_truth } } };
    const reward_model = { style: "rule", ground_truth };
    const extra_info = { split, index, need_tools_kwargs: true, tools_kwargs };
    return { data_source: "openai/gsm8k", agent_name: "tool_agent", prompt, reward_model, extra_info };
  });
  await writeParquet(output, rows, inferSchema(rows));
  return rows.length;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href)
  console.log(`Wrote ${await preprocess(process.argv[2] ?? SUMS, ...process.argv.slice(3))} prompts.`);
