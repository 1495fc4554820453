import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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
    ["a folder that is not there", ["modle"], 'Did you mean "model"?'],
    ["an id of the hub", ["org/name"], "`hf download org/name --local-dir org/name`"],
    ["a file", ["model/config.json"], `is no folder.\nDid you mean "${model}"?`],
    [
      "an empty folder",
      ["empty"],
      "is no model folder with weights: it has no config.json, tokenizer.json, tokenizer_config.json, model.safetensors.",
    ],
    ["a run's directory", ["run"], `Did you mean "${join(folder, "run/global_step_2/actor/huggingface")}"?`],
    ["a model without weights", ["start"], "is no model folder with weights: it has no model.safetensors."],
    ["weights in several files", ["sharded"], "Weights in several files are not read"],
    ["a config without a model", ["unsized"], "unsized/config.json has no max_position_embeddings."],
    ["a config that is no JSON", ["torn"], "torn/config.json cannot be used"],
    ["a chat template that writes no calls", ["plain", "--format", "auto"], "Name it by --format: "],
    ["a port out of range", ["model", "--port", "70000"], "whole number from 0 to 65535"],
    ["a format of nobody", ["model", "--format", "hermess"], "VERL_REGISTRY_KEY_UNKNOWN"],
  ])("refuses, by the exit code 2 and before anything is made, %s", async (_, args, message) => {
    const copy = (name: string, file?: string, text = "") => {
      cpSync(model, join(folder, name), { recursive: true });
      if (file !== undefined) writeFileSync(join(folder, name, file), text);
    };
    mkdirSync(join(folder, "empty"), { recursive: true });
    copy("run/global_step_2/actor/huggingface");
    copy("unsized", "config.json", "{}");
    copy("torn", "config.json", "{");
    copy("plain", "tokenizer_config.json", readFileSync("examples/sort-letters/model/tokenizer_config.json", "utf8"));
    copy("sharded", "model-00001-of-00002.safetensors");
    rmSync(join(folder, "sharded/model.safetensors"));
    const { code, stdout, stderr } = await cli(["gateway", "--format", "hermes", "--out", "none.jsonl", ...args], { cwd: folder }); // prettier-ignore
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(existsSync(join(folder, "none.jsonl"))).toBe(false);
    expect(stderr).toContain(message);
  });
});
