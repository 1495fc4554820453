import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, jest } from "@jest/globals";
import OpenAI from "openai";
import { createRunContainer, loadPlugins, LOGGER, RNG, ROLE_CONFIG, TOKENIZER } from "../../core/registry/index.ts";
import { activateBackend, createRng } from "../../core/tensor/index.ts";
import { cli } from "../cli/helpers.ts";
import { recordingLogger } from "../data/helpers.ts";
import { tokenizer } from "./support.ts";

jest.setTimeout(60_000);
const folder = mkdtempSync(join(tmpdir(), "verl-gateway-"));
const model = join(folder, "model");
afterAll(() => rmSync(folder, { recursive: true }));

/** The example's model with random weights. */
beforeAll(async () => {
  await loadPlugins([]);
  await activateBackend("cpu");
  cpSync("examples/tool-calculator/model", join(folder, "start"), { recursive: true });
  const engine = createRunContainer({
    [ROLE_CONFIG]: { role: "actor", model: { path: join(folder, "start") } },
    [TOKENIZER]: tokenizer,
    [RNG]: createRng(0),
    [LOGGER]: recordingLogger(),
  }).create("engine", "embedded");
  await engine.savePretrained(model);
  engine.dispose();
});

describe("verl gateway", () => {
  it("serves a model folder, and writes what was sampled when it is stopped", async () => {
    const stop = new AbortController();
    const printed: string[] = [];
    const running = cli(["gateway", model, "--json", "--format", "hermes", "--out", "captured.jsonl"], {
      cwd: folder,
      signal: stop.signal,
      print: (text) => void printed.push(text),
    });
    while (printed.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    const access = JSON.parse(printed[0]!) as { baseURL: string; apiKey: string };
    const client = new OpenAI({ ...access, maxRetries: 0 });
    const ask = { model: "policy", messages: [{ role: "user" as const, content: "1+1" }], max_tokens: 4 };
    const { usage } = await client.chat.completions.create(ask);
    await client.chat.completions.create(ask);
    stop.abort();
    expect((await running).code).toBe(0);
    expect(JSON.parse(printed[1]!)).toEqual({ trajectories: 2, out: join(folder, "captured.jsonl") });
    const rows = readFileSync(join(folder, "captured.jsonl"), "utf8").trimEnd().split("\n");
    const [row] = rows.map((line) => JSON.parse(line) as Record<string, unknown[]>);
    expect(rows).toHaveLength(2);
    expect(row!.input).toBe("<|user|>1+1<|end|><|assistant|>");
    expect(row!.response_ids).toHaveLength(usage!.completion_tokens);
    expect(row!.rollout_log_probs!.every((value) => Number(value) < 0)).toBe(true);
    expect(new Set(row!.mask)).toEqual(new Set([1]));
    await expect(fetch(`${access.baseURL}/models`)).rejects.toThrow("fetch failed");
  });

  it.each([
    ["a folder that is not there", ["none"], "VERL_DATA_TOKENIZER"],
    ["a model without weights", ["start"], "has no weights"],
    ["a port out of range", ["model", "--port", "70000"], "whole number from 0 to 65535"],
    ["a format of nobody", ["model", "--format", "hermess"], "VERL_REGISTRY_KEY_UNKNOWN"],
  ])("says what is wrong with %s", async (_, args, message) => {
    const { code, stderr } = await cli(["gateway", "--format", "hermes", ...args], { cwd: folder });
    expect(code).toBeGreaterThan(0);
    expect(stderr).toContain(message);
  });
});
