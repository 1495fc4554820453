import { describe, expect, it } from "@jest/globals";
import { Tokenizer } from "@huggingface/tokenizers";
import { loadTokenizer } from "../../core/data/load-tokenizer.ts";
import { PieceCache } from "../../core/data/piece-cache.ts";
import { folderWith } from "./helpers.ts";

describe("the cache of pieces", () => {
  it("keeps what was asked for lately, and no more than two generations", () => {
    const cache = new PieceCache();
    let kept = true;
    for (let piece = 0; piece < 50_000; piece++) {
      cache.put(`p${piece}`, [String(piece)]);
      kept &&= cache.get("p0")?.[0] === "0";
    }
    expect(kept).toBe(true);
    expect(cache.get("p49999")).toEqual(["49999"]);
    expect(cache.get("p1")).toBeUndefined();
    const held = Array.from({ length: 50_000 }, (_, piece) => cache.get(`p${piece}`)).filter(Boolean);
    expect(held.length).toBeLessThanOrEqual(20_000);
    cache.clear();
    expect(cache.get("p0")).toBeUndefined();
  });

  it("changes no token", async () => {
    const letters = [..."abcdefghijklmnopqrstuvwxyz"];
    const merges = letters.flatMap((left) => [..."aeiou"].map((right) => [left, right]));
    const vocab = [...letters, ...merges.map((pair) => pair.join("")), "<|end|>"];
    const definition = {
      added_tokens: [{ id: vocab.length - 1, content: "<|end|>", special: true }],
      pre_tokenizer: { type: "Whitespace" },
      model: { type: "BPE", vocab: Object.fromEntries(vocab.map((token, id) => [token, id])), merges },
    };
    const config = { tokenizer_class: "PreTrainedTokenizerFast", eos_token: "<|end|>" };
    const folder = folderWith({
      "tokenizer.json": JSON.stringify(definition),
      "tokenizer_config.json": JSON.stringify(config),
    });
    const plain = new Tokenizer({ normalizer: null, post_processor: null, decoder: null, ...definition }, config);
    const tokenizer = await loadTokenizer(folder);
    const text = "the policy learns to sort its answers by reward and reads each token once before a batch is drawn";
    for (let round = 0; round < 2; round++)
      expect([...tokenizer.encode(text)]).toEqual(plain.encode(text, { add_special_tokens: false }).ids);
  });
});
