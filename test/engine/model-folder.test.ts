import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { createRng } from "verl";
import { bucket } from "../../plugins/engine/embedded/bucket.ts";
import { EmbeddedEngine } from "../../plugins/engine/embedded/embedded-engine.ts";
import { loadModelConfig, parseModelConfig } from "../../plugins/engine/embedded/model-config.ts";
import { randomWeights, weightShapes } from "../../plugins/engine/embedded/weights.ts";
import { TINY, modelFolder, silent } from "./support/tiny-model.ts";

describe("parseModelConfig", () => {
  it("reads Llama's fields and fills in their defaults", () => {
    const { num_key_value_heads: _heads, head_dim: _dim, ...short } = TINY;
    expect(parseModelConfig(short)).toMatchObject({ numKeyValueHeads: 4, headDim: 2, valueHead: false });
    expect(parseModelConfig(TINY)).toMatchObject({
      numKeyValueHeads: 2,
      headDim: 4,
      ropeTheta: 100,
      tieWordEmbeddings: true,
    });
  });

  it.each([
    ["architectures", ["Qwen2ForCausalLM"]],
    ["hidden_act", "gelu"],
    ["attention_bias", true],
    ["rope_scaling", { type: "linear" }],
    ["vocab_size", undefined],
    ["hidden_size", 1.5],
    ["num_hidden_layers", "2"],
    ["num_key_value_heads", 3],
    ["head_dim", 3],
    ["rms_norm_eps", 0],
  ])("refuses %s = %j and names it", (key, value) => {
    expect(() => parseModelConfig({ ...TINY, [key]: value })).toThrow(
      expect.objectContaining({
        code: "VERL_MODEL_CONFIG",
        message: expect.stringContaining(key),
        location: { file: "config.json", path: key },
      }),
    );
  });

  it("lays override_config over the file, and says which file is missing or broken", async () => {
    const path = modelFolder();
    const role = { role: "actor", model: { path, override_config: { rope_theta: 7 } } } as const;
    expect(await loadModelConfig(role)).toMatchObject({ ropeTheta: 7 });
    writeFileSync(join(path, "config.json"), "[]");
    await expect(loadModelConfig(role)).rejects.toMatchObject({ code: "VERL_MODEL_CONFIG" });
    const missing = loadModelConfig({ role: "actor", model: { path: join(path, "none") } });
    await expect(missing).rejects.toMatchObject({
      code: "VERL_MODEL_CONFIG",
      location: { file: join(path, "none", "config.json") },
    });
  });
});

describe("random weights", () => {
  const config = parseModelConfig({
    ...TINY,
    vocab_size: 62,
    hidden_size: 128,
    intermediate_size: 256,
    num_key_value_heads: 4,
    head_dim: 32,
  });

  it("count and scale as the recipe says", () => {
    const weights = randomWeights(config, createRng(1));
    expect([...weights.values()].reduce((sum, { data }) => sum + data.length, 0)).toBe(336_256);
    const deviation = (name: string) =>
      Math.sqrt(weights.get(name)!.data.reduce((sum, x) => sum + x * x, 0) / weights.get(name)!.data.length);
    expect(deviation("model.embed_tokens.weight")).toBeCloseTo(0.02, 3);
    expect(deviation("model.layers.1.self_attn.q_proj.weight")).toBeCloseTo(1 / Math.sqrt(128), 2);
    expect(deviation("model.layers.0.mlp.down_proj.weight")).toBeCloseTo(1 / Math.sqrt(256) / 2, 2);
    expect(deviation("model.norm.weight")).toBe(1);
  });

  it("depend on the seed and the name alone", () => {
    const shallow = randomWeights({ ...config, numLayers: 1 }, createRng(1));
    const deep = randomWeights(config, createRng(1));
    expect(shallow.get("model.layers.0.mlp.up_proj.weight")).toEqual(deep.get("model.layers.0.mlp.up_proj.weight"));
    expect(randomWeights(config, createRng(2)).get("model.embed_tokens.weight")).not.toEqual(
      deep.get("model.embed_tokens.weight"),
    );
  });

  it("have a head only where it is not tied", () => {
    expect(weightShapes(config).has("lm_head.weight")).toBe(false);
    expect(weightShapes({ ...config, tieWordEmbeddings: false }).has("lm_head.weight")).toBe(true);
    expect(weightShapes({ ...config, valueHead: true }).get("score.weight")).toEqual([1, 128]);
  });
});

describe("a saved model folder", () => {
  it("loads back the same model, tokenizer files beside it", async () => {
    const path = modelFolder();
    writeFileSync(join(path, "tokenizer.json"), "{}");
    mkdirSync(join(path, "additional_chat_templates"));
    writeFileSync(join(path, "additional_chat_templates", "tool_use.jinja"), "x");
    const engine = new EmbeddedEngine({ role: "actor", model: { path } }, createRng(1), silent);
    const target = join(mkdtempSync(join(tmpdir(), "verl-save-")), "deep", "model");
    await engine.savePretrained(target);
    const loaded = new EmbeddedEngine({ role: "actor", model: { path: target } }, createRng(2), silent);
    expect(await loaded.exportWeights()).toEqual(await engine.exportWeights());
    expect(JSON.parse(readFileSync(join(target, "config.json"), "utf8"))).toMatchObject({
      ...TINY,
      model_type: "llama",
    });
    expect(existsSync(join(target, "tokenizer.json"))).toBe(true);
    expect(existsSync(join(target, "additional_chat_templates", "tool_use.jinja"))).toBe(true);
    engine.dispose();
    loaded.dispose();
  });
});

describe("bucket", () => {
  it("covers its extent, wastes at most a quarter, and has few values", () => {
    const sizes = new Set<number>();
    for (let extent = 1; extent <= 1024; extent += 1) {
      const size = bucket(extent);
      expect(size).toBeGreaterThanOrEqual(extent);
      expect(size).toBeLessThanOrEqual(Math.max(extent, 1.25 * extent));
      expect(bucket(size)).toBe(size);
      sizes.add(size);
    }
    expect(sizes.size).toBe(36);
  });
});
