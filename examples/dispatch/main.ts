// The single controller in one screen: a worker class, a dispatch mode of one's own, two ranks, five prompts.
//   npx tsx examples/dispatch/main.ts            two ranks in threads
//   npx tsx examples/dispatch/main.ts inline     both in this thread, for a debugger
// Two processes on the Ray cluster of RAY_ADDRESS, which python3 has the package of; they run the build, and so does this then:
//   npm run build:code && npx tsx --tsconfig dist/tsconfig.plugin.json examples/dispatch/main.ts ray
import { createLogger, InlineTransport, loadPlugins, RayTransport, ThreadTransport, WorkerGroup } from "verl";
import "./list-split.ts";
import { LLMWorker } from "./llm-worker.ts";

const ray = { address: null, host: null, port: 0, python: "python3", tls_cert: null, tls_key: null };
const transports = {
  thread: () => new ThreadTransport(),
  inline: () => new InlineTransport(),
  ray: () => new RayTransport({ controller: { ray } }, createLogger(), new AbortController().signal),
};

const [name = "thread", ...more] = process.argv.slice(2);
if (!Object.hasOwn(transports, name) || more.length > 0) {
  console.error(`Usage: npx tsx examples/dispatch/main.ts [${Object.keys(transports).join(" | ")}]`);
  process.exit(2);
}
const transport = transports[name as keyof typeof transports]();
await loadPlugins([]); // the built-in dispatch modes
try {
  const group = await WorkerGroup.create(LLMWorker, [], { worldSize: 2, transport });
  for (const line of await group.load_model("tiny-llm")) console.log(line);
  const prompts = ["one", "two", "three", "four", "five"];
  const answers = (await group.call("infer", prompts)) as string[];
  for (const answer of answers) console.log(answer);
  await group.dispose();
} finally {
  await transport.close();
}
