import { once } from "node:events";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, jest } from "@jest/globals";
import OpenAI from "openai";
import { createRunContainer, loadPlugins, LOGGER, RNG, ROLE_CONFIG, TOKENIZER } from "../../core/registry/index.ts";
import { activateBackend, createRng } from "../../core/tensor/index.ts";
import { cli } from "../cli/helpers.ts";
import { recordingLogger } from "../data/helpers.ts";
import { tokenizer } from "./support.ts";

jest.setTimeout(300_000);
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

  it.each([["afile/captured.jsonl"], ["."]])("says before it serves that it cannot write to %s", async (out) => {
    writeFileSync(join(folder, "afile"), "");
    const { code, stdout, stderr } = await cli(["gateway", model, "--format", "hermes", "--out", out], { cwd: folder });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(`The file ${join(folder, out)} cannot be written`);
    expect(stderr).toContain("(--out)");
    expect(stderr).not.toContain("checkpoint");
  });

  it("says what is lost where the disk is full", async () => {
    const stop = new AbortController();
    const printed: string[] = [];
    const running = cli(["gateway", model, "--json", "--format", "hermes", "--out", "/dev/full"], {
      signal: stop.signal,
      print: (text) => void printed.push(text),
    });
    while (printed.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    const access = JSON.parse(printed[0]!) as { baseURL: string; apiKey: string };
    const client = new OpenAI({ ...access, maxRetries: 0 });
    const messages = [{ role: "user" as const, content: "1+1" }];
    await client.chat.completions.create({ model: "policy", messages, max_tokens: 4 });
    stop.abort();
    const { code, stderr } = await running;
    expect(code).toBe(1);
    expect(stderr).toContain(
      "1 trajectory could not be written, and is lost. The file /dev/full cannot be written: ENOSPC",
    );
  });

  it("says that its port is in use", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    const { code, stderr } = await cli(["gateway", model, "--format", "hermes", "--port", String(port)], {
      cwd: folder,
    });
    other.close();
    expect(code).toBe(2);
    expect(stderr).toContain(`Port ${port} of 127.0.0.1 is in use`);
    expect(stderr).toContain("VERL_AGENT_PORT");
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
