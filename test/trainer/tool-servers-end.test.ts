import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeAll, describe, expect, it, jest } from "@jest/globals";
import { PpoTrainer } from "../../core/trainer/ppo-trainer.ts";
import { errorOf } from "../data/helpers.ts";
import { BUILT_IN, registerAll } from "./support/full-run.ts";
import { ppoConfig, recordingStream, runFolder } from "./support/tiny-run.ts";

/*
 * Servers of tools that do not end by themselves: who awaits a run finds none of them afterwards.
 */

jest.setTimeout(120_000);

const SERVER = `${import.meta.dirname}/fixtures/stubborn-server.mjs`;
const MULTI_TURN = "actor_rollout_ref.rollout.multi_turn";

beforeAll(registerAll);

/** Servers that a run has started, by its folder. */
const serversOf = (folder: string): number[] =>
  existsSync(`${folder}/servers`)
    ? readFileSync(`${folder}/servers`, "utf8").split("\n").filter(Boolean).map(Number)
    : [];

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const folders: string[] = [];
afterEach(() => {
  for (const pid of folders.splice(0).flatMap(serversOf)) if (isAlive(pid)) process.kill(pid, "SIGKILL");
});

/** A run whose tools are those of such a server. @param row fields of its first row */
function open(
  overrides: readonly string[],
  { silent = false, row = {}, signal = undefined as AbortSignal | undefined },
) {
  const folder = runFolder();
  folders.push(folder);
  const args = [SERVER, `${folder}/servers`, ...(silent ? ["silent"] : [])];
  const servers = { mcpServers: { stubborn: { command: process.execPath, args } } };
  writeFileSync(`${folder}/servers.json`, JSON.stringify(servers));
  writeFileSync(
    `${folder}/tools.yaml`,
    `tools: [{ class_name: mcp, config: { timeout: 600, mcp: { mcp_servers_config_path: ${folder}/servers.json } } }]`,
  );
  const [first, ...rest] = readFileSync(`${folder}/train.jsonl`, "utf8").split("\n");
  writeFileSync(`${folder}/train.jsonl`, [JSON.stringify({ ...JSON.parse(first!), ...row }), ...rest].join("\n"));
  const config = ppoConfig(folder, [
    "trainer.total_training_steps=1",
    "data.max_prompt_length=200",
    `${MULTI_TURN}.enable=true`,
    `${MULTI_TURN}.format=hermes`,
    `${MULTI_TURN}.tool_config_path=${folder}/tools.yaml`,
    ...BUILT_IN,
    ...overrides,
  ]);
  return { folder, trainer: PpoTrainer.create(config, { stream: recordingStream(), ...(signal && { signal }) }) };
}

function expectNone(folder: string, started: number): void {
  const servers = serversOf(folder);
  expect(servers).toHaveLength(started);
  expect(servers.filter(isAlive)).toEqual([]);
}

describe("a server that stays when its input ends is ended with the run", () => {
  it.each([
    ["in one thread", [], 1],
    ["on threads", ["controller.transport=thread"], 2],
  ])("%s", async (_, overrides, started) => {
    const { folder, trainer } = open(overrides, {});
    expect(await (await trainer).fit()).toMatchObject({ step: 1, interrupted: false });
    expectNone(folder, started);
  });

  it("that is refused for a row", async () => {
    const { folder, trainer } = open([], { row: { agent_name: "tol_agent" } });
    expect(await errorOf(() => trainer)).toMatchObject({ code: "VERL_REGISTRY_KEY_UNKNOWN" });
    expectNone(folder, 1);
  });

  it("that is stopped while the server does not answer", async () => {
    const stop = new AbortController();
    const { folder, trainer } = open([], { silent: true, signal: stop.signal });
    const ended = errorOf(() => trainer);
    while (serversOf(folder).length === 0) await sleep(20);
    stop.abort();
    expect(await ended).toBe(stop.signal.reason);
    expectNone(folder, 1);
  });
});
