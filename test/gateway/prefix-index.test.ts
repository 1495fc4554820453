import { describe, expect, it } from "@jest/globals";
import { CallIds } from "../../core/agent/gateway/call-ids.ts";
import { Conversations, joined } from "../../core/agent/gateway/conversations.ts";
import type { Exchange } from "../../core/agent/gateway/exchange.ts";
import { PrefixIndex } from "../../core/agent/gateway/prefix-index.ts";
import { LettersTokenizer } from "./letters-tokenizer.ts";
import { generation } from "./support.ts";

const always = (): boolean => true;

describe("an index of prefixes", () => {
  it("finds the longest that fits, and of equals the latest", () => {
    const index = new PrefixIndex<string>();
    for (const codes of [[1], [1, 2, 3], [2, 3], [1, 2, 4]]) index.add(codes, codes.join());
    index.add([1, 2, 3], "again");
    expect(index.longest([1, 2, 3, 4], always)).toBe("again");
    expect(index.longest([1, 2, 3], always)).toBe("again");
    expect(index.longest([1, 2, 3, 4], (place) => place !== "again")).toBe("1,2,3");
    expect(index.longest([1, 2], always)).toBe("1");
    expect(index.longest([3, 1], always)).toBeUndefined();
    index.forget((place) => place === "again" || place === "1");
    expect(index.longest([1, 2, 3], always)).toBe("1,2,3");
    expect(index.longest([1, 2], always)).toBeUndefined();
  });
});

describe("conversations of many plain completions", () => {
  const [requests, letters, lookUps] = [1000, 4000, 100];
  const tokenizer = new LettersTokenizer();
  const shared = "system ".repeat(letters / 7);
  const tokens = tokenizer.encode(shared);
  const promptOf = (number: number): string => `${shared}${number}?`;
  const conversations = new Conversations(tokenizer, new CallIds());
  for (let index = 0; index < requests; index++) {
    const added = joined(tokens, tokenizer.encode(`${index}?`));
    const [answer, promptLength] = [generation([...tokenizer.encode("!")], [-1]), added.length];
    const rest = { parent: undefined, kept: 0, promptLength, length: promptLength + 1, endedAt: 0 };
    const exchange: Exchange = { index, added, answer, ...rest };
    conversations.rememberText(promptOf(index), exchange, [{ text: "!", kept: 1, rest: "", ended: true }]);
  }

  it.each([
    ["texts", (text: string) => text],
    ["token ids", (text: string) => tokenizer.encode(text)],
  ])("are looked up in the time that reading a prompt takes: %s", (_, read) => {
    const prompts = Array.from({ length: lookUps }, (__, at) => read(`${promptOf(at)}!more`));
    const start = process.cpuUsage();
    const found = prompts.map((prompt) => conversations.text(prompt));
    const { user, system } = process.cpuUsage(start);
    // One by one with all of them they took some 35 ms each.
    expect((user + system) / 1000).toBeLessThan(lookUps * 10);
    expect(found.map(({ parent }) => parent?.index)).toEqual(Array.from({ length: lookUps }, (__, at) => at));
    expect(tokenizer.decode(found[0]!.added)).toBe("more");
  });
});
