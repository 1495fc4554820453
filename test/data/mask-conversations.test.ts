import { describe, expect, it, jest } from "@jest/globals";
import { loadTokenizer } from "../../core/data/load-tokenizer.ts";
import { maskConversation } from "../../core/data/loss-mask.ts";
import { FEW_CONVERSATIONS, maskConversations, type Conversation } from "../../core/data/prompts/mask-conversations.ts";
import { errorOf, SORT_MODEL, WordTokenizer } from "./helpers.ts";

// Threads load the sources through a loader, slowly on a busy machine.
jest.setTimeout(300_000);

const sort = await loadTokenizer(SORT_MODEL);
const conversations = Array.from({ length: FEW_CONVERSATIONS + 250 }, (_, row): Conversation => {
  const said = "abcdefghij".slice(0, row % 11);
  const turns = Array.from({ length: 1 + (row % 3) }, () => [
    { role: "user", content: [...said].reverse().join("") },
    { role: "assistant", content: said },
  ]);
  return { messages: turns.flat(), tools: [], origin: { file: "a.parquet", row } };
});
const here = ({ messages, tools, origin }: Conversation) => maskConversation(sort, messages, { tools }, origin);

describe("many conversations", () => {
  it("are tokenised in threads as they are here, in order, and it is told how far it is", async () => {
    const told: number[] = [];
    const onProgress = (done: number, total: number): void => {
      expect(total).toBe(conversations.length);
      told.push(done);
    };
    expect(await maskConversations(sort, conversations, { workers: 2, onProgress })).toEqual(conversations.map(here));
    expect(told).toEqual([...told].sort((a, b) => a - b));
    expect(told.at(-1)).toBe(conversations.length);
  });

  it("are given up at the first that the template refuses, which is named", async () => {
    const bad = (row: number): Conversation => ({
      messages: [{ role: "robot", content: "a" }],
      tools: [],
      origin: { file: "a.parquet", row },
    });
    const some = conversations.map((one, row) => (row === 999 || row === 412 ? bad(row) : one));
    const inThreads = await errorOf(() => maskConversations(sort, some, { workers: 2 }));
    const alone = await errorOf(() => maskConversations(sort, some.slice(0, 500)));
    expect(inThreads).toMatchObject({ code: "VERL_DATA_CHAT_TEMPLATE", details: { row: 412 } });
    expect(inThreads.message).toContain("It was row 412 of the dataset.");
    expect({ message: inThreads.message, location: inThreads.location }).toEqual({
      message: alone.message,
      location: alone.location,
    });
  });

  it("are tokenised here where no thread can have the tokenizer", async () => {
    const words = new WordTokenizer();
    const examples = await maskConversations(
      words,
      conversations.map((one) => ({ ...one, messages: [{ role: "user", content: "one two" }] })),
    );
    expect(examples.every(({ ids }) => ids.length === 2)).toBe(true);
  });
});
