import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "@jest/globals";
import type { AgentContext, AgentSample } from "../../core/agent/agent-loop.ts";
import { AGENT_PARTS } from "../../core/agent/agent-parts.ts";
import type { Generation, RolloutEngine } from "../../core/engine/rollout-engine.ts";
import { CONFIG, createRunContainer, loadPlugins, LOGGER, TOKENIZER } from "../../core/registry/index.ts";
import { ServiceError } from "../../core/reward/service/service-error.ts";
import { HermesToolParser } from "../../plugins/tool-parser/hermes.ts";
import { errorOf, recordingLogger } from "../data/helpers.ts";
import { calculating, callOf, generation, ScriptedRollout, tokenizer } from "./support.ts";

const folder = mkdtempSync(join(tmpdir(), "verl-agent-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** An agent by fetch alone. */
const AGENT = `
const ask = async ({ baseURL, apiKey }, messages) => {
  const response = await fetch(baseURL + "/chat/completions", {
    method: "POST",
    headers: { authorization: "Bearer " + apiKey },
    body: JSON.stringify({ model: "gpt-4o", temperature: 0.5, messages, tools: [{ type: "function", function: { name: "calc" } }] }),
  });
  const body = await response.json();
  if (!response.ok) throw new Error(body.error.message);
  return body.choices[0].message;
};
export async function run({ messages, row }, endpoint) {
  const said = [...messages, await ask(endpoint, messages)];
  for (const call of said.at(-1).tool_calls ?? []) said.push({ role: "tool", tool_call_id: call.id, content: row.answer });
  const { content } = await ask(endpoint, said);
  return { reward: content === "=" + row.answer ? 1 : 0, said: content };
}
export const judges = async ({ messages, row }, endpoint) => { await ask(endpoint, messages); return { reward: row.reward }; };
export const silent = async () => "nothing";
export const forks = async ({ messages }, endpoint) => void (await Promise.all([ask(endpoint, messages), ask(endpoint, messages)]));
export const hangs = ({ messages }, endpoint) => ask(endpoint, messages);
export const throws = async ({ messages }, endpoint) => { await ask(endpoint, messages); throw new Error("a bug of mine"); };
const full = async ({ messages }, endpoint) => {
  await ask(endpoint, messages);
  try { await ask(endpoint, [{ role: "user", content: "1".repeat(100) }]); } catch (error) { return error; }
};
export const wraps = async (task, endpoint) => { throw new Error("My agent failed.", { cause: await full(task, endpoint) }); };
export const quotes = async (task, endpoint) => { throw "told: " + (await full(task, endpoint)).message; };
export const rests = async (task, endpoint) => void (await full(task, endpoint));
export const swallows = async (task, endpoint) => { await full(task, endpoint); undefined.oops; };
export const shrugs = async ({ messages }, endpoint) => {
  const said = await ask(endpoint, messages);
  return ask(endpoint, [...messages, said, { role: "user", content: "1" }]).catch(() => "never mind");
};
export const givesUp = async ({ messages }, endpoint) => {
  const said = [...messages];
  try {
    for (let turn = 0; turn < 3; turn++) said.push(await ask(endpoint, said), { role: "user", content: "1" });
  } catch (error) { return "gave up: " + error.message; }
};
export const persists = async ({ messages }, endpoint) => {
  for (let tries = 0; tries < 5; tries++) { try { return await ask(endpoint, messages); } catch {} }
};
export const persistsElsewhere = async ({ messages }, endpoint) => {
  await ask(endpoint, messages).catch(() => {});
  return ask(endpoint, [...messages, { role: "user", content: "1" }]);
};
export const asksTwice = async ({ messages }, endpoint) => {
  await Promise.allSettled([ask(endpoint, messages), ask(endpoint, messages)]);
};
export const rewrites = async ({ messages }, endpoint) => {
  const said = [...messages];
  for (let turn = 0; turn < 3; turn++) {
    const answer = await ask(endpoint, said);
    said.push(turn === 0 ? answer : { role: "assistant", content: "=9" }, { role: "user", content: "1" });
  }
};
export const independent = async ({ messages }, endpoint) => {
  for (let task = 0; task < 3; task++) await ask(endpoint, [{ role: "user", content: String(task) }]);
};
const refused = { role: "ghost", content: "" };
export const hides = async (_, endpoint) => { try { await ask(endpoint, [refused]); } catch {} return { reward: 0.5 }; };
export const hidesTwo = async (_, endpoint) => { for (const role of ["a", "b"]) await ask(endpoint, [{ role }]).catch(() => {}); };
export const notAFunction = 7;
export const summarises = async ({ messages }, endpoint) => {
  await ask(endpoint, messages);
  return ask(endpoint, [{ role: "user", content: "1+1+1+1+1+1" }]);
};
`;
writeFileSync(join(folder, "agent.mjs"), AGENT);
writeFileSync(join(folder, "broken.mjs"), "export const = 1;");
await loadPlugins([]);

function loopOf(name = "run", rest: Record<string, unknown> = {}, promptLength = 20, log = recordingLogger()) {
  const container = createRunContainer({
    [CONFIG]: {
      data: { apply_chat_template_kwargs: {} },
      actor_rollout_ref: { rollout: { prompt_length: promptLength } },
    },
    [TOKENIZER]: tokenizer,
    [AGENT_PARTS]: { parser: new HermesToolParser() },
    [LOGGER]: log,
  });
  const options = { path: join(folder, "agent.mjs"), function: name, ...rest };
  return container.create("agent_loop", "gateway_agent", { options });
}

const SAMPLE: AgentSample = {
  messages: [{ role: "user", content: "17+25" }],
  promptIds: tokenizer.encode("17+25"),
  uid: "u1",
  sampleIndex: 0,
  row: { answer: "42" },
  validate: false,
};

function contextOf(rollout: RolloutEngine, maxTokens = 40, signal = new AbortController().signal) {
  const metrics: Record<string, number> = {};
  const sampling = { temperature: 1, top_k: -1, top_p: 1, max_tokens: maxTokens, stop_token_ids: [], seed: 1 };
  const metric = (name: string, value: number): void => void (metrics[name] = value);
  const ctx: AgentContext = { rollout, sampling, signal, metric, toolCalled: () => undefined };
  return { ctx, metrics };
}

describe("gateway_agent", () => {
  it("runs the user's function and trains on what it sampled", async () => {
    const rollout = new ScriptedRollout(calculating);
    const { ctx, metrics } = contextOf(rollout);
    const trajectory = await loopOf().run(SAMPLE, ctx);
    const texts = trajectory.segments.map(({ ids, trainable }) => [trainable, tokenizer.decode(ids)]);
    expect(texts).toEqual([
      [true, `${callOf("17+25")}<|end|>`],
      [false, "<tool_response>42</tool_response><|assistant|>"],
      [true, "=42<|end|>"],
    ]);
    expect(trajectory).toMatchObject({
      rewardScore: 1,
      stopReason: "stop",
      extraFields: { agent_result: { reward: 1, said: "=42" } },
    });
    expect(metrics).toMatchObject({
      "agent_loop/gateway_requests": 2,
      "agent_loop/gateway_branches": 1,
      "agent_loop/gateway_sampling_overridden_count": 2,
    });
  });

  it.each([
    [undefined, undefined],
    [null, undefined],
    [0.5, 0.5],
    ["1.0", 'the string "1.0"'],
    [NaN, "NaN"],
    [true, "a boolean"],
  ])("takes the agent's reward %p, or says what it is", async (reward, expected) => {
    const { ctx } = contextOf(new ScriptedRollout(calculating));
    const run = loopOf("judges").run({ ...SAMPLE, row: { reward } }, ctx);
    if (typeof expected !== "string") expect((await run).rewardScore).toBe(expected);
    else
      await expect(run).rejects.toMatchObject({
        code: "VERL_AGENT_REWARD",
        message: `The agent of ${join(folder, "agent.mjs")} gave ${expected} as a reward.`,
      });
  });

  it("serves many samples at once by one server, each by its own key", async () => {
    const loop = loopOf();
    const rollout = new ScriptedRollout(calculating);
    const all = await Promise.all(
      Array.from({ length: 40 }, (_, index) => {
        const messages = [{ role: "user", content: `${index}+1` }];
        return loop.run({ ...SAMPLE, messages, sampleIndex: index }, contextOf(rollout).ctx);
      }),
    );
    const prompts = all.map(({ promptIds }) => tokenizer.decode(promptIds));
    expect(prompts).toEqual(Array.from({ length: 40 }, (_, index) => `<|user|>${index}+1<|end|><|assistant|>`));
    expect(all.every(({ segments }) => segments.length === 3)).toBe(true);
  });

  it("ends by the limit, not by a failure, where the conversation has no room left", async () => {
    const trajectory = await loopOf().run(SAMPLE, contextOf(new ScriptedRollout(calculating), 16).ctx);
    expect(trajectory).toMatchObject({ stopReason: "limit", extraFields: {} });
    expect(trajectory.segments).toHaveLength(1);
  });

  it.each(["wraps", "quotes", "rests"])("ends by the limit where the agent %s what it was told of it", async (name) => {
    const trajectory = await loopOf(name).run(SAMPLE, contextOf(new ScriptedRollout(() => "=2")).ctx);
    expect(trajectory).toMatchObject({ stopReason: "limit" });
  });

  it("fails by an agent's own error after a refusal", async () => {
    const error = await errorOf(() => loopOf("swallows").run(SAMPLE, contextOf(new ScriptedRollout(() => "=2")).ctx));
    expect(error).toBeInstanceOf(TypeError);
  });

  it.each(["run", "shrugs"])(
    "fails where the engine's answer contradicts itself, whatever the agent does: %s",
    async (name) => {
      const rollout = new ScriptedRollout((_, number) => (number === 1 ? generation([29, 3], [-1]) : callOf("1+1")));
      const { ctx, metrics } = contextOf(rollout);
      const error = await errorOf(() => loopOf(name).run(SAMPLE, ctx));
      expect(error).toMatchObject({
        code: "VERL_AGENT_TRAJECTORY",
        message: "A generation has 2 tokens but 1 log-probs.",
      });
      expect(metrics["agent_loop/gateway_failed_requests_count"]).toBe(1);
    },
  );

  describe("where the engine fails a request", () => {
    const down = new ServiceError("the server is gone", 503);
    const aborted = generation([29], [-1], { stopReason: "abort" });
    const contradictory = generation([29, 3], [-1]);
    const failing = (failures: Record<number, Error | Generation>) =>
      new ScriptedRollout((_, number) => {
        const failure = failures[number] ?? "=2";
        return failure instanceof Error ? Promise.reject(failure) : failure;
      });

    it.each<[string, string, Record<number, Error | Generation>, string]>([
      ["its first, and the agent gives up", "givesUp", { 0: down }, down.message],
      ["a later one, and the agent gives up", "givesUp", { 1: down }, down.message],
      ["by an abort, and the agent gives up", "givesUp", { 1: aborted }, "The generation was aborted."],
      ["by a contradiction, and the agent gives up", "givesUp", { 1: contradictory }, "2 tokens but 1 log-probs"],
      ["again and again", "persists", { 0: down, 1: down, 2: down, 3: down, 4: down }, down.message],
      ["and the agent asks something else", "persistsElsewhere", { 0: down }, down.message],
      ["and answers another of the same that was under way", "asksTwice", { 0: down }, down.message],
    ])("fails by what the engine failed by: %s", async (_, name, failures, message) => {
      const { ctx, metrics } = contextOf(failing(failures));
      const error = await errorOf(() => loopOf(name).run(SAMPLE, ctx));
      expect(error.message).toContain(message);
      expect(metrics["agent_loop/gateway_failed_requests_count"]).toBe(Object.keys(failures).length);
    });

    it("has a whole answer where the agent's client asks again", async () => {
      const busy = Object.assign(new Error("busy"), { status: 429 });
      const failures = { 0: new Error("out of memory"), 1: busy, 2: aborted, 3: contradictory };
      const { ctx, metrics } = contextOf(failing(failures));
      const { segments, stopReason } = await loopOf("persists").run(SAMPLE, ctx);
      expect(segments.map(({ ids }) => tokenizer.decode(ids))).toEqual(["=2<|end|>"]);
      expect(stopReason).toBe("stop");
      expect(metrics).toMatchObject({
        "agent_loop/gateway_failed_requests_count": 4,
        "agent_loop/gateway_requests": 1,
      });
    });
  });

  it("trains on a rewritten history, and counts it", async () => {
    const rollout = new ScriptedRollout((_, number) => (number === 0 ? "=1" : "=234"));
    const { ctx, metrics } = contextOf(rollout);
    const { promptIds, segments, stopReason } = await loopOf("summarises", {}, 8).run(SAMPLE, ctx);
    expect(tokenizer.decode(promptIds)).toBe("<|user|>1+1+1+1");
    expect(segments.map(({ ids, trainable }) => [trainable, tokenizer.decode(ids)])).toEqual([
      [false, "+1+1<|end|><|assistant|>"],
      [true, "=234<|end|>"],
    ]);
    expect(stopReason).toBe("stop");
    expect(metrics).toMatchObject({
      "agent_loop/gateway_history_breaks_count": 1,
      "agent_loop/gateway_dropped_tokens_count": 3,
    });
  });

  it("counts answers that the agent replaced behind one that it handed back", async () => {
    const rollout = new ScriptedRollout((_, number) => `=${number}`);
    const { ctx, metrics } = contextOf(rollout, 80);
    await loopOf("rewrites").run(SAMPLE, ctx);
    expect(metrics).toMatchObject({
      "agent_loop/gateway_branches": 2,
      "agent_loop/gateway_history_breaks_count": 1,
      "agent_loop/gateway_dropped_tokens_count": 3,
    });
  });

  it.each([
    ["independent", false, 1],
    ["independent", true, 0],
    ["run", false, 0],
  ])("warns once of steps that mostly train on nothing (%s, validation: %s)", async (name, validate, warnings) => {
    const told = new Map<string, string>();
    const warnOnce = (code: string, message: string): void => void told.set(code, message);
    const loop = loopOf(name, {}, 20, { ...recordingLogger(), warnOnce });
    const rollout = new ScriptedRollout(calculating);
    for (let step = 0; step < 2; step++) {
      const samples = [0, 1, 2].map((sampleIndex) => ({ ...SAMPLE, validate, sampleIndex }));
      await Promise.all(samples.map((sample) => loop.run(sample, contextOf(rollout).ctx)));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect([...told.values()].filter((message) => message.includes("are not trained on"))).toHaveLength(warnings);
  });

  it("drops conversations by rule, and counts them", async () => {
    const rollout = () => new ScriptedRollout((_, number) => (number === 0 ? "=12345" : "=1"));
    const longest = contextOf(rollout());
    const trajectory = await loopOf("forks").run(SAMPLE, longest.ctx);
    expect(tokenizer.decode(trajectory.segments[0]!.ids)).toBe("=12345<|end|>");
    expect(longest.metrics).toMatchObject({
      "agent_loop/gateway_branches": 2,
      "agent_loop/gateway_dropped_branches_count": 1,
      "agent_loop/gateway_dropped_tokens_count": 3,
    });
    const error = await errorOf(() => loopOf("forks", { branches: "fail" }).run(SAMPLE, contextOf(rollout()).ctx));
    expect(error).toMatchObject({ code: "VERL_AGENT_FUNCTION", message: expect.stringContaining("2 conversations") });
  });

  it.each([
    ["asks nothing", () => loopOf("silent"), "The agent ended without an answer of the model"],
    [
      "hides that it was refused",
      () => loopOf("hides"),
      "made 1 request, none of which was answered, so there is nothing to train on. The last was told: 400 Invalid 'messages[0].role'",
    ],
    ["hides that it was refused twice", () => loopOf("hidesTwo"), "made 2 requests, none of which was answered"],
    ["is no function", () => loopOf("notAFunction"), 'exports "notAFunction", which is a number'],
    ["throws", () => loopOf("throws"), "a bug of mine"],
    ["is not exported", () => loopOf("runs"), 'exports no function "runs"'],
    ["does not load", () => loopOf("run", { path: join(folder, "broken.mjs") }), "does not load"],
    ["is not there", () => loopOf("run", { path: join(folder, "none.ts") }), "does not exist"],
    ["has too long a prompt", () => loopOf("run", {}, 3), "a prompt may have 3"],
  ])("says what is wrong with an agent that %s", async (_, loop, message) => {
    const { ctx } = contextOf(new ScriptedRollout(() => "=2"));
    expect((await errorOf(() => loop().run(SAMPLE, ctx))).message).toContain(message);
  });

  it.each([
    ["is not exported", "runs", "agent.mjs", 'exports no function "runs"'],
    ["does not load", "run", "broken.mjs", "does not load"],
  ])("says what is wrong with an agent that %s before any sample", async (_, name, file, message) => {
    const loop = loopOf(name, { path: join(folder, file) });
    expect((await errorOf(() => loop.prepare!())).message).toContain(message);
  });

  it("ends with its sample, whatever the agent waits for", async () => {
    const rollout = new ScriptedRollout(() => new Promise(() => {}));
    const controller = new AbortController();
    const { ctx, metrics } = contextOf(rollout, 40, controller.signal);
    const running = errorOf(() => loopOf("hangs").run(SAMPLE, ctx));
    while (rollout.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    controller.abort(new Error("timed out after 1 s"));
    expect((await running).message).toBe("timed out after 1 s");
    while (rollout.aborted === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(metrics["agent_loop/gateway_requests"]).toBe(0);
  });
});
