import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it, jest } from "@jest/globals";

jest.setTimeout(300_000);
const folder = mkdtempSync(join(tmpdir(), "verl-stray-"));
afterAll(() => rmSync(folder, { recursive: true }));

const AGENT = `
import { get } from "node:http";
const ask = async ({ baseURL, apiKey }, messages) => {
  const response = await fetch(baseURL + "/chat/completions", {
    method: "POST",
    headers: { authorization: "Bearer " + apiKey },
    body: JSON.stringify({ model: "m", messages }),
  });
  if (!response.ok) throw new Error("the client was told " + response.status);
  return (await response.json()).choices[0].message;
};
const withAnswer = (leave) => async ({ messages }, endpoint) => {
  const said = await ask(endpoint, messages);
  await leave(endpoint, [...messages, said, { role: "user", content: "1" }]);
};
const soon = () => new Promise((resolve) => setTimeout(resolve, 20));
const isOver = async () => { while (!globalThis.isOver) await soon(); };
export const request = withAnswer(async (endpoint, more) => {
  void ask(endpoint, more);
  while (globalThis.requests < 2) await soon();
});
export const lateRequest = withAnswer((endpoint, more) => void isOver().then(() => ask(endpoint, more)));
export const timer = withAnswer(() => void setTimeout(() => { throw new TypeError("of a timer"); }, 50));
export const socket = withAnswer((endpoint) => void isOver().then(() => void get(endpoint.baseURL)));
export const listener = async ({ messages }, endpoint) => {
  endpoint.signal.addEventListener("abort", () => { throw new TypeError("of a listener"); });
  await ask(endpoint, messages);
  globalThis.isWaiting = true;
  await new Promise(() => {});
};
`;
writeFileSync(join(folder, "agent.mjs"), AGENT);

const urlOf = (path: string): string => JSON.stringify(new URL(`../../${path}`, import.meta.url).href);

interface Ended {
  ended: string;
  warnings: string[];
  metrics: Record<string, number>;
  engineIsAgents: boolean;
}

/** Runs agents one after the other, guarded as in a command, in a process of its own. The engine answers the first request of each alone. */
function guarded(names: readonly string[], then = "") {
  const script = `
    import { setTimeout as sleep } from "node:timers/promises";
    import { RunGuard } from ${urlOf("core/cli/run-guard.ts")};
    import { AGENT_PARTS } from ${urlOf("core/agent/agent-parts.ts")};
    import { tellStrayError } from ${urlOf("core/errors/stray-errors.ts")};
    import { CONFIG, createRunContainer, loadPlugins, LOGGER, TOKENIZER } from ${urlOf("core/registry/index.ts")};
    import { HermesToolParser } from ${urlOf("plugins/tool-parser/hermes.ts")};
    import { ScriptedRollout, tokenizer } from ${urlOf("test/gateway/support.ts")};
    await loadPlugins([]);
    const config = { data: { apply_chat_template_kwargs: {} }, actor_rollout_ref: { rollout: { prompt_length: 20 } } };
    const sample = { messages: [{ role: "user", content: "1" }], promptIds: tokenizer.encode("1"), uid: "u", sampleIndex: 0, row: {}, validate: false };
    const sampling = { temperature: 1, top_k: -1, top_p: 1, max_tokens: 40, stop_token_ids: [], seed: 1 };
    async function endOnceItWaits(attempt) {
      while (!globalThis.isWaiting) await sleep(20);
      attempt.abort(new Error("the deadline"));
    }
    async function attempt(name) {
      const [warnings, metrics] = [[], {}];
      const container = createRunContainer({
        [CONFIG]: config, [TOKENIZER]: tokenizer, [AGENT_PARTS]: { parser: new HermesToolParser() },
        [LOGGER]: { warnOnce: (_, message) => void warnings.push(message) },
      });
      const options = { path: ${JSON.stringify(join(folder, "agent.mjs"))}, function: name };
      const loop = container.create("agent_loop", "gateway_agent", { options });
      let engineIsAgents = false;
      const rollout = new ScriptedRollout((_, number) => {
        globalThis.requests = number + 1;
        engineIsAgents ||= tellStrayError(new Error("none"));
        return number === 0 ? "=2" : new Promise(() => {});
      });
      const attempt = new AbortController();
      const metric = (name, value) => void (metrics[name] = (metrics[name] ?? 0) + value);
      globalThis.isOver = globalThis.isWaiting = false;
      if (name === "listener") void endOnceItWaits(attempt);
      const running = loop.run(sample, { rollout, signal: attempt.signal, toolCalled() {}, sampling, metric });
      const ended = await running.then(({ stopReason }) => stopReason, ({ message }) => message);
      globalThis.isOver = true;
      ${then}
      while (!metrics["agent_loop/gateway_stray_errors_count"]) await sleep(20);
      return { ended, warnings, metrics, engineIsAgents };
    }
    await new RunGuard().run(async () => {
      const all = {};
      for (const name of ${JSON.stringify(names)}) all[name] = await attempt(name);
      console.log(JSON.stringify(all));
    }, () => "Last words.");`;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["--import", "tsx", "--input-type=module", "--eval", script],
    { encoding: "utf8" },
  );
  return { status, stdout, stderr };
}

describe("an error that an agent left to nobody", () => {
  it("ends no run, and is told and counted", () => {
    const expected: Record<string, [told: string, ended: string]> = {
      request: ["the client was told 503", "stop"],
      lateRequest: ["fetch failed", "stop"],
      timer: ["of a timer", "stop"],
      socket: ["ECONNREFUSED", "stop"],
      listener: ["of a listener", "the deadline"],
    };
    const { status, stdout, stderr } = guarded(Object.keys(expected));
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    const all = JSON.parse(stdout) as Record<string, Ended>;
    for (const [name, { ended, warnings, metrics, engineIsAgents }] of Object.entries(all)) {
      expect([name, ended]).toEqual([name, expected[name]![1]]);
      expect(warnings).toEqual([expect.stringContaining(expected[name]![0])]);
      expect(warnings[0]).toContain("agent.mjs");
      expect(metrics).toMatchObject({
        "agent_loop/gateway_stray_errors_count": 1,
        "agent_loop/gateway_requests": 1,
        "agent_loop/gateway_aborted_requests_count": name === "request" ? 1 : 0,
      });
      expect(engineIsAgents).toBe(false);
    }
    expect(Object.keys(all)).toEqual(Object.keys(expected));
  });

  it("is told from one of the run's own, which ends it", () => {
    const { status, stdout, stderr } = guarded(["request"], 'void Promise.reject(new TypeError("of the run"));');
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toContain("of the run");
    expect(stderr).toContain("Last words.");
  });
});
