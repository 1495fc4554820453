// Agent loops: four turns each (three calls of the calculator and an answer) through the tool agent, its parser, tool and chat template,
// against an engine that answers after 5 ms. Beside them asyncio loops in Python that do the same turns.
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import {
  AGENT_PARTS,
  AgentParts,
  CONFIG,
  createLogger,
  createRng,
  createRunContainer,
  DataProto,
  loadConfig,
  loadPlugin,
  loadTokenizer,
  LOGGER,
  LoopRunner,
  NdArray,
  TOKENIZER,
} from "verl";
import { inPython } from "./support/python.mjs";

const SIZES = [1000, 10_000];
const TURNS = 4;
const LATENCY_MS = 5;
const GROUP = 8;
const ROUNDS = 5;
const EXAMPLE = "examples/tool-calculator";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc");

/** What dies in a collection may hold memory that goes a turn of the event loop later. */
async function emptyHeap() {
  for (let round = 0; round < 3; round += 1) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export default async function bench({ row }) {
  await loadPlugin("verl/plugins");
  const setup = await prepare();
  // As in a training, whose first steps are not what it costs.
  await setup.run(SIZES.at(-1));
  const python = asyncio();
  for (const size of SIZES) {
    const rounds = [];
    for (let round = 0; round < ROUNDS; round += 1) rounds.push(await setup.run(size));
    const overhead = fastest(rounds.map(({ seconds }) => perTurn(seconds, size)));
    const cpu = fastest(rounds.map(({ cpuSeconds }) => (cpuSeconds / size / TURNS) * 1e6));
    const beside = python?.get(size);
    row({
      name: `${size} loops, overhead a turn`,
      value: overhead,
      unit: "µs",
      ...(beside && { ratio: beside.wall / overhead, versus: `asyncio: ${beside.wall.toFixed(0)} µs` }),
    });
    row({
      name: `${size} loops, CPU a turn`,
      value: cpu,
      unit: "µs",
      ...(beside && { ratio: beside.cpu / cpu, versus: `asyncio: ${beside.cpu.toFixed(0)} µs` }),
    });
    const { memory } = await setup.run(size, { weigh: true });
    row({ name: `${size} loops, memory a loop`, value: memory / 1024, unit: "KiB" });
  }
}

/** µs a turn beyond the engine's latency. */
const perTurn = (seconds, size) => ((seconds - (TURNS * LATENCY_MS) / 1000) / size / TURNS) * 1e6;

/** Of the fastest half, since other work on the machine only ever adds. */
const fastest = (values) => {
  const sorted = [...values].sort((a, b) => a - b).slice(0, Math.ceil(values.length / 2));
  return sorted.reduce((sum, value) => sum + value, 0) / sorted.length;
};

async function prepare() {
  const { config } = loadConfig({
    schema: "ppo",
    overrides: [`actor_rollout_ref.rollout.multi_turn.tool_config_path=${EXAMPLE}/tools.yaml`],
  });
  const tokenizer = await loadTokenizer(`${EXAMPLE}/model`);
  const log = createLogger({ write: (line) => console.error(line) });
  const container = createRunContainer({ [CONFIG]: config, [LOGGER]: log, [TOKENIZER]: tokenizer });
  const parts = new AgentParts(container, config, log);
  container.bind({ [AGENT_PARTS]: parts });

  const encode = (text) => tokenizer.encode(text, { addSpecialTokens: false });
  const say = (text) => {
    const ids = encode(`${text}<|end|>`);
    return { ids, logprobs: new Float32Array(ids.length).fill(-1), stopReason: "stop", weightVersion: 0 };
  };
  // A sum a group, as its answers would calculate it.
  const sums = Array.from({ length: 400 }, (_, index) => `${100 + index}+${499 - ((index * 7) % 400)}`);
  const prompts = sums.map((sum) =>
    tokenizer.encodeChat([{ role: "user", content: sum }], { addGenerationPrompt: true }),
  );
  const calls = sums.map((sum) => say(`<tool_call>{"name":"calc","arguments":{"e":"${sum}"}}</tool_call>`));
  const answer = say("=579");
  const [prompt, call] = [prompts[0], calls[0]];
  const bySum = new Map(prompts.map((ids, index) => [ids.join(), calls[index]]));
  // What the prompt has after so many turns tells which one it is.
  const afterTurns = prompt.length + (TURNS - 1) * call.ids.length;

  let waiting = 0;
  let onFull;
  const rollout = {
    weightVersion: 0,
    async generate(ids) {
      if (++waiting === onFull?.count) onFull.act();
      await new Promise((resolve) => setTimeout(resolve, LATENCY_MS));
      return ids.length >= afterTurns ? answer : bySum.get(ids.subarray(0, prompt.length).join());
    },
  };

  return {
    async run(size, { weigh = false } = {}) {
      const runner = new LoopRunner({
        rollout,
        createLoop: (key) => parts.createLoop(key),
        defaultLoop: "tool_agent",
        promptLength: prompt.length,
        responseLength: 128,
        padTokenId: 0,
        log,
      });
      const batch = promptsOf(size, sums, prompts);
      // Only for the scales: a forced collection throws compiled code away too, which the turns after it would pay for.
      if (weigh) await emptyHeap();
      const before = process.memoryUsage();
      let memory = 0;
      waiting = 0;
      // Every loop is in its third turn: nothing has been answered, and nothing is yet to begin.
      const act = () => {
        collect();
        const now = process.memoryUsage();
        memory = (now.heapUsed + now.arrayBuffers - before.heapUsed - before.arrayBuffers) / size;
      };
      onFull = weigh ? { count: 3 * size, act } : undefined;
      const [started, cpu] = [performance.now(), process.cpuUsage()];
      const { metrics } = await runner.run(batch, {
        sampling: { temperature: 1, top_k: -1, top_p: 1, stop_token_ids: [] },
        rng: createRng(0),
        validate: false,
        signal: new AbortController().signal,
      });
      const [seconds, used] = [(performance.now() - started) / 1000, process.cpuUsage(cpu)];
      if (metrics["agent_loop/num_turns/mean"] !== 2 * TURNS) throw new Error("not every loop took four turns");
      return { seconds, cpuSeconds: (used.user + used.system) / 1e6, memory };
    },
  };
}

function promptsOf(size, sums, prompts) {
  const width = prompts[0].length;
  const ids = new Int32Array(size * width);
  const sumOf = (row) => Math.floor(row / GROUP) % sums.length;
  for (let row = 0; row < size; row += 1) ids.set(prompts[sumOf(row)], row * width);
  return new DataProto({
    batch: {
      prompts: new NdArray("int32", [size, width], ids),
      attention_mask: new NdArray("int32", [size, width], new Int32Array(size * width).fill(1)),
    },
    nonTensorBatch: {
      raw_prompt: Array.from({ length: size }, (_, row) => [{ role: "user", content: sums[sumOf(row)] }]),
      uid: Array.from({ length: size }, (_, row) => `u${Math.floor(row / GROUP)}`),
    },
  });
}

/** µs a turn, by size; undefined without a Python. */
function asyncio() {
  const file = join(mkdtempSync(join(tmpdir(), "verl-bench-")), "sizes.json");
  writeFileSync(file, JSON.stringify({ sizes: SIZES, turns: TURNS, latency: LATENCY_MS / 1000, rounds: ROUNDS }));
  const sizes = inPython("agents.py", [file]);
  return sizes && new Map(sizes.map(({ size, wall, cpu }) => [size, { wall, cpu }]));
}
