import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { collateSft } from "../../core/data/collate-sft.ts";
import { loadTokenizer } from "../../core/data/load-tokenizer.ts";
import { maskConversation, type SftExample } from "../../core/data/loss-mask.ts";
import { packSequences } from "../../core/data/packing.ts";
import { loadSftDataset, type SftDataConfig } from "../../core/data/sft-dataset.ts";
import type { ChatMessage, Tokenizer } from "../../core/data/tokenizer.ts";
import { errorOf, folderWith, recordingLogger, SORT_MODEL } from "./helpers.ts";

const ORIGIN = { file: "a.jsonl", row: 3 };
const sort = await loadTokenizer(SORT_MODEL);
const withTemplate = (chatTemplate: string): Promise<Tokenizer> => loadTokenizer(SORT_MODEL, { chatTemplate });
const trained = (tokenizer: Tokenizer, { ids, lossMask }: SftExample): string =>
  tokenizer.decode(ids.filter((_, index) => lossMask[index] === 1));

const CHAT: ChatMessage[] = [
  { role: "user", content: "ba" },
  { role: "assistant", content: "ab" },
  { role: "user", content: "dc" },
  { role: "assistant", content: "cd" },
];

describe("maskConversation", () => {
  it("trains every assistant message with its end token, and nothing else", () => {
    const example = maskConversation(sort, CHAT, {}, ORIGIN);
    expect(sort.decode(example.ids)).toBe(
      "<|user|>ba<|end|><|assistant|>ab<|end|><|user|>dc<|end|><|assistant|>cd<|end|>",
    );
    expect([...example.lossMask].join("")).toBe("0000011100000111");
    expect(trained(sort, example)).toBe("ab<|end|>cd<|end|>");
  });

  it("leaves what the template writes after the end token untrained", async () => {
    const spaced = await withTemplate(
      "{% for m in messages %}{{ '<|' + m.role + '|>' + m.content + '<|end|> ' }}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}",
    );
    expect(trained(spaced, maskConversation(spaced, CHAT, {}, ORIGIN))).toBe("ab<|end|>cd<|end|>");
  });

  it("trains the whole message when the template has no end token", async () => {
    const endless = await withTemplate(
      "{% for m in messages %}{{ '<|' + m.role + '|>' + m.content }}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}",
    );
    expect(trained(endless, maskConversation(endless, CHAT, {}, ORIGIN))).toBe("abcd");
  });

  it("names row, message and first differing token when the template rewrites history", async () => {
    const forgetful = await withTemplate(
      "{% for m in messages %}{% if m.role == 'user' or loop.last %}{{ '<|' + m.role + '|>' + m.content + '<|end|>' }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}",
    );
    const error = await errorOf(() => maskConversation(forgetful, CHAT, {}, ORIGIN));
    expect(error).toMatchObject({
      code: "VERL_DATA_TEMPLATE_DRIFT",
      location: { file: "a.jsonl" },
      details: { row: 3, message: 1, token: 4 },
    });
    expect(error.message).toContain('token 4 is "<|assistant|>" at first and "<|user|>" later');
  });
});

const DATA: SftDataConfig = {
  messages_key: "messages",
  tools_key: "tools",
  max_length: 16,
  truncation: "error",
  apply_chat_template_kwargs: {},
};

describe("loadSftDataset", () => {
  const load = (rows: object[], data: Partial<SftDataConfig> = {}, maxSamples = -1) => {
    const folder = folderWith({ "a.jsonl": rows.map((row) => JSON.stringify(row)).join("\n") });
    const log = recordingLogger();
    return loadSftDataset({
      files: [join(folder, "a.jsonl")],
      maxSamples,
      config: { ...DATA, ...data },
      tokenizer: sort,
      log,
    });
  };

  it("counts what it cut and dropped", async () => {
    const rows = [{ messages: CHAT }, { messages: CHAT.slice(0, 2) }, { messages: CHAT.slice(0, 1) }];
    const dataset = await load(rows, { truncation: "right", max_length: 12 });
    expect(dataset.length).toBe(2);
    expect(sort.decode(dataset.example(0).ids)).toBe("<|user|>ba<|end|><|assistant|>ab<|end|><|user|>dc<|end|>");
    expect(dataset.stats).toEqual({
      "data/rows": 2,
      "data/conversations_truncated": 1,
      "data/untrainable_dropped": 1,
      "data/trained_tokens": 6,
    });
    expect((await load(rows, {}, 1)).length).toBe(1);
  });

  it("cuts the left side, mask and tokens together", async () => {
    const dataset = await load([{ messages: CHAT }], { truncation: "left", max_length: 5 });
    expect(sort.decode(dataset.example(0).ids)).toBe("<|end|><|assistant|>cd<|end|>");
    expect([...dataset.example(0).lossMask]).toEqual([0, 0, 1, 1, 1]);
  });

  it.each([
    ["too long", [{ messages: CHAT }], { max_length: 9 }, "VERL_DATA_PROMPT_TOO_LONG", "row 0 has 16 tokens > 9"],
    ["without a messages column", [{ prompt: CHAT }], {}, "VERL_DATA_COLUMN_MISSING", '"messages"'],
    ["with messages of another type", [{ messages: "hi" }], {}, "VERL_DATA_COLUMN_TYPE", '"messages", row 0'],
    ["without an assistant", [{ messages: CHAT.slice(0, 1) }], {}, "VERL_DATA_EMPTY", "None of 1"],
  ])("refuses data %s", async (_, rows, data, code, text) => {
    const error = await errorOf(() => load(rows, data));
    expect(error.code).toBe(code);
    expect(error.message).toContain(text);
  });
});

const example = fc
  .array(fc.record({ id: fc.integer({ min: 1, max: 61 }), bit: fc.boolean() }), { minLength: 1, maxLength: 9 })
  .map((tokens) => ({
    ids: Int32Array.from(tokens, ({ id }) => id),
    lossMask: Uint8Array.from(tokens, ({ bit }) => Number(bit)),
  }));

describe("collateSft", () => {
  it("shifts once: responses are the tokens after the first, with their own mask bits", () => {
    const short = { ids: Int32Array.of(5, 6), lossMask: Uint8Array.of(0, 1) };
    const long = { ids: Int32Array.of(7, 8, 9), lossMask: Uint8Array.of(1, 0, 1) };
    const batch = collateSft([short, long], { padTokenId: 0 });
    const data = (key: string): number[] => [...batch.tensor(key, "int32").data];
    expect(data("input_ids")).toEqual([5, 6, 0, 7, 8, 9]);
    expect(data("attention_mask")).toEqual([1, 1, 0, 1, 1, 1]);
    expect(data("position_ids")).toEqual([0, 1, 0, 0, 1, 2]);
    expect(data("responses")).toEqual([6, 0, 8, 9]);
    expect(data("response_mask")).toEqual([1, 0, 0, 1]);
    expect(batch.batch.has("segment_ids")).toBe(false);
  });

  it("packs whole conversations; each keeps its tokens, positions and mask, and no border is trained", () => {
    fc.assert(
      fc.property(fc.array(example, { minLength: 1, maxLength: 12 }), (examples) => {
        const batch = collateSft(examples, { padTokenId: 0, packTo: 16 });
        const rows = batch.length;
        const [, width = 0] = batch.tensor("input_ids").shape;
        const at = (key: string, row: number, column: number, stride = width): number =>
          batch.tensor(key, "int32").data[row * stride + column]!;
        const seen: string[] = [];
        for (let row = 0; row < rows; row += 1) {
          for (let column = 0; column < width; column += 1) {
            if (at("segment_ids", row, column) === 0) {
              expect([at("input_ids", row, column), at("attention_mask", row, column)]).toEqual([0, 0]);
              continue;
            }
            const starts = at("position_ids", row, column) === 0;
            if (starts) seen.push("");
            if (column > 0) {
              expect(at("responses", row, column - 1, width - 1)).toBe(at("input_ids", row, column));
              if (starts) expect(at("response_mask", row, column - 1, width - 1)).toBe(0);
            }
            const bit = starts ? 0 : at("response_mask", row, column - 1, width - 1);
            seen[seen.length - 1] += `${at("input_ids", row, column)}/${bit} `;
          }
        }
        const wanted = examples.map(({ ids, lossMask }) =>
          [...ids].map((id, index) => `${id}/${index === 0 ? 0 : lossMask[index]} `).join(""),
        );
        expect(seen.sort()).toEqual(wanted.sort());
      }),
    );
  });
});

describe("packSequences", () => {
  it("puts every sequence into one row, within its capacity, near the fewest rows", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 20 }), { maxLength: 60 }), (lengths) => {
        const rows = packSequences(lengths, 20);
        expect(rows.flat().sort((a, b) => a - b)).toEqual(lengths.map((_, index) => index));
        for (const row of rows) expect(row.reduce((sum, index) => sum + lengths[index]!, 0)).toBeLessThanOrEqual(20);
        const fewest = Math.ceil(lengths.reduce((sum, length) => sum + length, 0) / 20);
        expect(rows.length).toBeLessThanOrEqual(2 * fewest);
      }),
    );
  });

  it("refuses a sequence longer than a row", () => {
    expect(() => packSequences([3, 9], 8)).toThrow("Sequence 1 has 9 tokens");
  });
});
