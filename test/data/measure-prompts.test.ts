import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, jest } from "@jest/globals";
import { loadTokenizer } from "../../core/data/load-tokenizer.ts";
import { packChunk, unpackChunk } from "../../core/data/prompts/chunk-text.ts";
import type { Prompt } from "../../core/data/prompts/measure-chunk.ts";
import { FEW, measurePrompts } from "../../core/data/prompts/measure-prompts.ts";
import { folderWith, SORT_MODEL, WordTokenizer } from "./helpers.ts";

// Threads load the sources through a loader, slowly on a busy machine.
jest.setTimeout(300_000);

const cache = folderWith({});
const files = (): string[] =>
  readdirSync(cache, { recursive: true, encoding: "utf8" }).filter((f) => f.endsWith("bin"));
const before = process.env["VERL_CACHE_DIR"];
beforeAll(() => {
  process.env["VERL_CACHE_DIR"] = cache;
});
afterAll(() => {
  if (before === undefined) delete process.env["VERL_CACHE_DIR"];
  else process.env["VERL_CACHE_DIR"] = before;
});

const sort = await loadTokenizer(SORT_MODEL);
const fault = (at: number, error: Error): Error => new Error(`prompt ${at}: ${error.message}`);

const promptOf = (index: number): Prompt => ({
  messages: [{ role: "user", content: "abcdefgh".slice(0, index % 9) }],
  tools: [],
});
const prompts = Array.from({ length: FEW + 700 }, (_, index) => promptOf(index));
/** The template of the example writes three tokens around the content. */
const expected = prompts.map((_, index) => 3 + (index % 9));

describe("measurePrompts", () => {
  it("measures many prompts in threads, in order, tells how far it is, and knows them the next time", async () => {
    const told: number[] = [];
    const onProgress = (done: number, total: number): void => {
      expect(total).toBe(prompts.length);
      told.push(done);
    };
    expect([...(await measurePrompts(sort, prompts, { workers: 2, onProgress, fault }))]).toEqual(expected);
    expect(told).toEqual([...told].sort((a, b) => a - b));
    expect(told.at(-1)).toBe(prompts.length);
    expect(files()).toHaveLength(1);

    told.length = 0;
    expect([...(await measurePrompts(sort, prompts, { onProgress, fault }))]).toEqual(expected);
    expect(told).toEqual([]);

    // A cache that was cut short is no cache.
    const [name] = files();
    writeFileSync(join(cache, name!), readFileSync(join(cache, name!)).subarray(0, 8));
    expect([...(await measurePrompts(sort, prompts, { workers: 1, onProgress, fault }))]).toEqual(expected);
    expect(told.at(-1)).toBe(prompts.length);
  });

  it("names the first prompt that the template refuses, wherever it lies", async () => {
    const bad = (at: number): Prompt => ({ messages: [{ role: `robot${at}`, content: "a" }], tools: [] });
    const some = prompts.map((prompt, index) => (index === 1999 || index === 612 ? bad(index) : prompt));
    await expect(measurePrompts(sort, some, { workers: 2, fault })).rejects.toThrow(/^prompt 612: .*robot612/);
  });

  it("measures in this thread where no other can have the tokenizer", async () => {
    const words = new WordTokenizer();
    const many = prompts.map(() => ({ messages: [{ role: "user", content: "one two" }], tools: [{ text: "three" }] }));
    const lengths = await measurePrompts(words, many, { fault });
    expect(lengths.every((length) => length === 3)).toBe(true);
  });

  it("hands prompts over with large integers kept", () => {
    const large: Prompt[] = [
      { messages: [{ role: "user", content: "x", id: 2n ** 60n }], tools: [{ n: 1 }] },
      { messages: [{ role: "tool", content: null }], tools: [] },
    ];
    expect(unpackChunk(packChunk(large))).toEqual(large);
    expect(unpackChunk(packChunk(prompts.slice(0, 3)))).toEqual(prompts.slice(0, 3));
  });
});
