// The single controller in one screen: a worker class, a dispatch mode of one's own, two ranks, five prompts.
//   npx tsx examples/dispatch/main.ts            two ranks in threads
//   npx tsx examples/dispatch/main.ts inline     both in this thread, for a debugger
import { InlineTransport, loadPlugins, ThreadTransport, WorkerGroup } from "verl";
import "./list-split.ts";
import { LLMWorker } from "./llm-worker.ts";

const transport = process.argv[2] === "inline" ? new InlineTransport() : new ThreadTransport();
await loadPlugins([]); // the built-in dispatch modes
const group = await WorkerGroup.create(LLMWorker, [], { worldSize: 2, transport });
try {
  for (const line of await group.load_model("tiny-llm")) console.log(line);
  const prompts = ["one", "two", "three", "four", "five"];
  const answers = (await group.call("infer", prompts)) as string[];
  for (const answer of answers) console.log(answer);
} finally {
  await group.dispose();
  await transport.close();
}
