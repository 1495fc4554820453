import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it, jest } from "@jest/globals";
import { AgentLoop } from "../../core/agent/agent-loop.ts";
import { LoopRunner, type LoopRunnerOptions } from "../../core/agent/loop-runner.ts";
import { DataProto } from "../../core/batch/data-proto.ts";
import { NdArray } from "../../core/batch/nd-array.ts";
import { createRng } from "../../core/tensor/rng.ts";
import { SingleTurnAgentLoop } from "../../plugins/agent-loop/single-turn.ts";
import { recordingLogger } from "../data/helpers.ts";
import { callOf, registerOnce, toolAgent } from "./support/conversation.ts";
import { GenerationServer, HttpRollout, tokens } from "./support/http-rollout.ts";
import { events, testTools, toolsFile } from "./support/tools.ts";

jest.setTimeout(300_000);
registerOnce(testTools);

const SAMPLING = { temperature: 1, top_k: -1, top_p: 1, stop_token_ids: [] };
const N = 2;

/** Prompts [10], [11], … with two rows each. */
function prompts(count: number, columns: Record<string, unknown[]> = {}): DataProto {
  const ids = Int32Array.from({ length: count }, (_, at) => 10 + at);
  return new DataProto({
    batch: {
      prompts: new NdArray("int32", [count, 1], ids),
      attention_mask: new NdArray("int32", [count, 1], new Int32Array(count).fill(1)),
    },
    nonTensorBatch: {
      raw_prompt: Array.from({ length: count }, () => [{ role: "user", content: "go" }]),
      uid: Array.from({ length: count }, (_, index) => `u${index}`),
      ...columns,
    },
  }).repeat(N);
}

async function run(batch: DataProto, options: Partial<LoopRunnerOptions> & Pick<LoopRunnerOptions, "rollout">) {
  const log = recordingLogger();
  const runner = new LoopRunner({
    createLoop: () => new SingleTurnAgentLoop(),
    defaultLoop: "single_turn_agent",
    promptLength: 1,
    responseLength: 400,
    padTokenId: 0,
    log,
    retryDelay: 0.001,
    ...options,
  });
  const signal = new AbortController().signal;
  const result = await runner.run(batch, { sampling: SAMPLING, rng: createRng(0), validate: false, signal });
  return { ...result, log, uids: [...new Set(result.batch.column("uid") as string[])] };
}

let server: GenerationServer | undefined;
afterEach(() => server?.close());

async function serve(reply: ConstructorParameters<typeof GenerationServer>[0]): Promise<HttpRollout> {
  server = new GenerationServer(reply);
  return new HttpRollout(await server.listen());
}

describe("an engine", () => {
  it.each([
    ["drops connections", (response: Parameters<typeof tokens>[0]) => void response.destroy(), "error"],
    ["answers 429", (response: Parameters<typeof tokens>[0]) => void response.writeHead(429).end(), "error"],
    ["answers 500", (response: Parameters<typeof tokens>[0]) => void response.writeHead(500).end("oops"), "error"],
    [
      "returns fewer tokens than log-probs",
      (response: Parameters<typeof tokens>[0]) => tokens(response, [5], [-1, -2]),
      "verl_agent_trajectory",
    ],
    ["stalls", () => undefined, "timeout"],
  ])("that %s costs the prompts that it strikes for good, and no others", async (_, fault, reason) => {
    let struck = 0;
    const rollout = await serve(([prompt], response) => {
      // Prompt 10 fails always, prompt 11 at first.
      if (prompt === 10 || (prompt === 11 && struck++ < 2)) fault(response);
      else tokens(response, [prompt! + 10, 3]);
    });
    const { metrics, uids, keptRows, batch } = await run(prompts(4), {
      rollout,
      timeout: reason === "timeout" ? 2 : null,
    });
    expect(uids).toEqual(["u1", "u2", "u3"]);
    expect([...keptRows]).toEqual([2, 3, 4, 5, 6, 7]);
    expect([...batch.tensor("responses", "int32").data].filter((id) => id > 3)).toEqual([21, 21, 22, 22, 23, 23]);
    expect(metrics).toMatchObject({
      "agent_loop/dropped_groups": 1,
      "agent_loop/dropped_rows": 2,
      [`agent_loop/dropped_groups/${reason}`]: 1,
    });
    // Two rows of prompt 10 with two each, and those that prompt 11 needed.
    expect(metrics["agent_loop/retries"]).toBeGreaterThanOrEqual(4);
    while (server!.open > 0) await sleep(20);
  });

  it("is asked again after a pause that grows", async () => {
    const times: number[] = [];
    const rollout = await serve((_, response) => {
      times.push(performance.now());
      if (times.length < 3) response.writeHead(429).end();
      else tokens(response, [5]);
    });
    await run(prompts(1).slice(0, 1), { rollout, retryDelay: 0.1 });
    expect(times[1]! - times[0]!).toBeGreaterThan(90);
    expect(times[2]! - times[1]!).toBeGreaterThan(190);
  });
});

describe("a group that is given up", () => {
  it("ends its other answers at once", async () => {
    let ended = 0;
    const loop = new (class extends AgentLoop {
      run(...[{ sampleIndex }, { signal }]: Parameters<AgentLoop["run"]>): ReturnType<AgentLoop["run"]> {
        if (sampleIndex === 0) return Promise.reject(new Error("broken"));
        return new Promise((_, reject) =>
          signal.addEventListener("abort", () => {
            ended += 1;
            reject(signal.reason as Error);
          }),
        );
      }
    })();
    const rollout = await serve((_, response) => tokens(response, [5]));
    await expect(run(prompts(2), { rollout, createLoop: () => loop, maxRetries: 0 })).rejects.toThrow("broken");
    expect(ended).toBe(2);
  });
});

describe("tools in a run", () => {
  const file = toolsFile("recorded", "hang", "large");

  /** Each conversation calls what its row says, then answers. */
  async function runTools(calls: readonly string[], drops: (turn: number) => boolean = () => false) {
    const { loop, parts, tokenizer } = toolAgent({ tools: file, overrides: ["tool_timeout_s=0.2"] });
    events.splice(0);
    const rollout = await serve((prompt, response) => {
      const turns = prompt.filter((id) => id === tokenizer.eosTokenId).length;
      if (drops(turns)) return void response.destroy();
      tokens(response, [...tokenizer.encode(`${turns === 0 ? calls[prompt[0]! - 10] : "done"}<|end|>`)]);
    });
    const result = await run(prompts(calls.length), { rollout, createLoop: () => loop });
    await parts.close();
    const texts = Array.from({ length: result.batch.length }, (_, row) =>
      tokenizer.decode(result.batch.tensor("responses", "int32").row(row).data),
    );
    return { ...result, texts };
  }

  it("that throw, hang, or answer ten megabytes end as the policy says, and the others finish", async () => {
    const calls = [callOf("recorded", { fail: true }), callOf("hang", { deaf: true }), callOf("large"), "no call"];
    const { texts, metrics, uids } = await runTools(calls);
    expect(uids).toEqual(["u0", "u1", "u2", "u3"]);
    expect(metrics["agent_loop/dropped_groups"]).toBe(0);
    expect(texts[0]).toContain("Error when executing tool: no luck");
    expect(texts[2]).toContain("Error when executing tool: timed out after 0.2 s");
    expect(texts[4]).toMatch(/x{128}\.\.\.\(truncated\)\.\.\.x{128}/);
    expect(metrics).toMatchObject({ "agent_loop/tool_calls/count": 6, "agent_loop/ended/answered": 8 });
    expect(metrics["agent_loop/tool_latency/p95"]).toBeGreaterThanOrEqual(0.19);
    // Which conversation is the slowest, a busy machine decides; it takes no less than the one whose tool hangs.
    const { "agent_loop/slowest/generate_sequences": generation, "agent_loop/slowest/tool_calls": tools } = metrics;
    expect(generation! + tools!).toBeGreaterThanOrEqual(0.19);
  });

  it("are opened anew when a conversation is tried again, and all released", async () => {
    let dropped = 0;
    const { metrics } = await runTools([callOf("recorded")], (turn) => turn > 0 && dropped++ < 2);
    expect(metrics["agent_loop/retries"]).toBe(2);
    const count = (kind: string): number => events.filter((event) => event.startsWith(kind)).length;
    expect([count("create"), count("release")]).toEqual([4, 4]);
  });
});
