import { describe, expect, it } from "@jest/globals";
import type OpenAI from "openai";
import {
  branchEnds,
  sampledTokens,
  trajectoriesOf,
  trajectoryOf,
  type GatewaySession,
} from "../../core/agent/gateway/index.ts";
import { LettersTokenizer } from "./letters-tokenizer.ts";
import { CALC, callOf, generation, ScriptedRollout, tokenizer as exampleTokenizer, withSession } from "./support.ts";

type Messages = OpenAI.ChatCompletionMessageParam[];
const STOP = "\nObservation:";
const THOUGHT = `Thought${STOP} x`;

/** Runs `use` in front of an engine that gives these answers one after the other. */
async function answering(
  answers: readonly string[],
  use: (client: OpenAI, session: GatewaySession, rollout: ScriptedRollout) => Promise<void>,
  words: readonly string[] = [],
): Promise<void> {
  const tokenizer = new LettersTokenizer(words);
  const rollout = new ScriptedRollout((_, number) => answers[number]!, tokenizer);
  await withSession(rollout, ({ client, session }) => use(client, session, rollout), {}, { tokenizer });
}

/** The newest conversation: prompt, then what was sampled in plain text and what was not in brackets. */
function told(session: GatewaySession, words: readonly string[] = []): string {
  const tokenizer = new LettersTokenizer(words);
  const { promptIds, segments } = trajectoryOf(branchEnds(session.exchanges).at(-1)!);
  const runs = segments.map(({ ids, trainable }) => (trainable ? tokenizer.decode(ids) : `(${tokenizer.decode(ids)})`));
  return `${tokenizer.decode(promptIds)}|${runs.join("")}`;
}

/** All tokens before the last answer are those that the engine was given for it. */
function expectExact(session: GatewaySession, rollout: ScriptedRollout): void {
  const end = session.exchanges.at(-1)!;
  const { promptIds, segments } = trajectoryOf(end);
  const before = [promptIds, ...segments.slice(0, -1).map(({ ids }) => ids)].flatMap((ids) => [...ids]);
  expect(before).toEqual([...rollout.requests.at(-1)!.promptIds]);
  const sampled = segments.filter(({ trainable }) => trainable).reduce((sum, { ids }) => sum + ids.length, 0);
  expect(sampledTokens(end)).toBe(sampled);
  expect(end.length).toBe(before.length + end.answer.ids.length);
}

describe("a stop text that ended an answer", () => {
  it.each<[string, string, string[], string]>([
    [
      "stays as it was sampled where a completion's client writes it again",
      `${STOP} 42\n`,
      [],
      `Thought${STOP}( 42\n)`,
    ],
    ["is not there where its client does not", "\nAction: 42\n", [], "Thought(\nAction: 42\n)"],
    ["is not there in part", "\nObs", [], "Thought(\nObs)"],
    ["takes its token with it where that has more before it", "!", [`ht${STOP}`], "Thoug(ht!)"],
    ["takes its token with it where that has more behind it", `${STOP} 42`, [`${STOP} x`], `Thought(${STOP} 42)`],
    ["stays where its token is all that the client writes", `${STOP} x2`, [`${STOP} x`], `Thought${STOP} x(2)`],
  ])("%s", async (_, more, words, expected) => {
    await answering(
      [THOUGHT, "Final"],
      async (client, session, rollout) => {
        const first = await client.completions.create({ model: "m", prompt: "Q\n", stop: [STOP] });
        expect(first.choices[0]).toMatchObject({ text: "Thought", finish_reason: "stop" });
        const prompt = `Q\n${first.choices[0]!.text}${more}`;
        await client.completions.create({ model: "m", prompt });
        expect(rollout.requests[1]!.prompt).toBe(prompt);
        expect(told(session, words)).toBe(`Q\n|${expected}Final<|end|>`);
        expectExact(session, rollout);
      },
      words,
    );
  });

  it.each<[string, string[], string, string]>([
    ["of two that begin together the shorter one", ["1234", "1"], "x", "x1"],
    ["of two within each other the inner one", ["12345", "34"], "x12", "x1234"],
    ["of two that end together the longer one", ["34", "1234"], "x", "x1234"],
  ])("is the one that was complete first: %s", async (_, stop, text, sampled) => {
    await answering(["x12345"], async (client, session) => {
      const { choices } = await client.completions.create({ model: "m", prompt: "Q", stop });
      expect(choices[0]).toMatchObject({ text, finish_reason: "stop" });
      expect(told(session)).toBe(`Q|${sampled}`);
    });
  });

  it.each<[string, string[], string, string]>([
    ["ends inside of a token", ["abc"], "xab", "x(ab?)"],
    ["begins and ends inside of tokens", ["xa", "bc"], "xab", "xa(b?)"],
    ["ends with its token", ["xab"], "xab", "xab(?)"],
  ])("is gone on from where the client writes it again, and it %s", async (_, words, written, expected) => {
    for (const chat of [false, true]) {
      await answering(
        ["xabcyz", "Final"],
        async (client, session, rollout) => {
          const messages: Messages = [{ role: "user", content: "hi" }];
          if (chat) {
            await client.chat.completions.create({ model: "m", messages, stop: ["b"] });
            messages.push({ role: "assistant", content: written }, { role: "user", content: "?" });
            await client.chat.completions.create({ model: "m", messages });
          } else {
            await client.completions.create({ model: "m", prompt: "Q", stop: ["b"] });
            await client.completions.create({ model: "m", prompt: `Q${written}?` });
            expect(told(session, words)).toBe(`Q|${expected}Final<|end|>`);
          }
          expect(session.exchanges[1]!.parent).toBe(session.exchanges[0]);
          expect(session.counts.historyBreaks).toBe(0);
          expectExact(session, rollout);
        },
        words,
      );
    }
  });

  it("is whole, and trained on, at a conversation's end", async () => {
    await answering([THOUGHT], async (client, session) => {
      await client.completions.create({ model: "m", prompt: "Q\n", stop: STOP });
      expect(told(session)).toBe(`Q\n|Thought${STOP}`);
    });
  });

  it("may be all of an answer", async () => {
    await answering([STOP, "Final"], async (client, session, rollout) => {
      const first = await client.completions.create({ model: "m", prompt: "Q\n", stop: STOP });
      expect(first.choices[0]!.text).toBe("");
      await client.completions.create({ model: "m", prompt: "Q\n?" });
      expect(told(session)).toBe("Q\n|(?)Final<|end|>");
      expectExact(session, rollout);
    });
  });

  it.each([
    ["with it", `${STOP} 42`, `Thought${STOP}( 42)`],
    ["without it", "? 42", "Thought(? 42)"],
  ])("is told from prompts of token ids: %s", async (_, more, expected) => {
    await answering([THOUGHT, "Final"], async (client, session, rollout) => {
      await client.completions.create({ model: "m", prompt: "Q\n", stop: STOP });
      const prompt = [...new LettersTokenizer().encode(`Q\nThought${more}`)];
      await client.completions.create({ model: "m", prompt });
      expect(told(session)).toBe(`Q\n|${expected}Final<|end|>`);
      expectExact(session, rollout);
    });
  });

  it("is not there in a chat either, unless the client writes it", async () => {
    for (const [content, expected] of [
      ["abc", "abc(<|end|>"],
      ["abcSTOP", "abcSTOP(<|end|>"],
    ] as const) {
      await answering(["abcSTOPdef", "Final"], async (client, session, rollout) => {
        const messages: Messages = [{ role: "user", content: "hi" }];
        const first = await client.chat.completions.create({ model: "m", messages, stop: "STOP" });
        expect(first.choices[0]!.message.content).toBe("abc");
        messages.push({ role: "assistant", content }, { role: "user", content: "more" });
        await client.chat.completions.create({ model: "m", messages });
        expect(rollout.requests[1]!.prompt).toBe(
          `<user>hi<|end|>\n<assistant>${content}<|end|>\n<user>more<|end|>\n<assistant>`,
        );
        expect(told(session)).toBe(
          `<user>hi<|end|>\n<assistant>|${expected}\n<user>more<|end|>\n<assistant>)Final<|end|>`,
        );
        expectExact(session, rollout);
      });
    }
  });

  it.each([
    [
      [`Thought${STOP} 1`, "Thought?"],
      [[`Thought${STOP}`, "One<|end|>"], ["Two<|end|>"]],
    ],
    [
      ["Thought?", `Thought${STOP} 1`],
      [
        ["Thought", "One<|end|>"],
        [STOP, "Two<|end|>"],
      ],
    ],
  ])("may lead to branches with and without it; each token counts once: %j", async (histories, expected) => {
    await answering([THOUGHT, "One", "Two"], async (client, session) => {
      await client.completions.create({ model: "m", prompt: "Q\n", stop: STOP });
      for (const history of histories) await client.completions.create({ model: "m", prompt: `Q\n${history}` });
      const tokenizer = new LettersTokenizer();
      const trained = trajectoriesOf(session.exchanges).map(({ segments }) =>
        segments.filter(({ trainable }) => trainable).map(({ ids }) => tokenizer.decode(ids)),
      );
      expect(trained).toEqual(expected);
    });
  });
});

describe("an answer that the model did not end", () => {
  it("is closed as the template does, whatever its last letter", async () => {
    await answering(["abcd", "Final"], async (client, session, rollout) => {
      const messages: Messages = [{ role: "user", content: "hi" }];
      await client.chat.completions.create({ model: "m", messages, max_tokens: 4 });
      messages.push({ role: "assistant", content: "abcd" }, { role: "user", content: "more" });
      await client.chat.completions.create({ model: "m", messages });
      expect(rollout.requests[1]!.prompt).toContain("<assistant>abcd<|end|>\n<user>more");
      expectExact(session, rollout);
    });
  });

  it("may be empty", async () => {
    const tokenizer = new LettersTokenizer();
    const empty = {
      ids: new Int32Array(),
      logprobs: new Float32Array(),
      stopReason: "stop" as const,
      weightVersion: 7,
    };
    const rollout = new ScriptedRollout((_, number) => (number === 0 ? empty : "Final"), tokenizer);
    const use = async (client: OpenAI): Promise<void> => {
      const messages: Messages = [{ role: "user", content: "hi" }];
      const { choices } = await client.chat.completions.create({ model: "m", messages });
      messages.push(choices[0]!.message, { role: "user", content: "more" });
      await client.chat.completions.create({ model: "m", messages });
      expect(rollout.requests[1]!.prompt).toContain("<assistant><|end|>\n<user>more");
    };
    await withSession(rollout, ({ client }) => use(client), {}, { tokenizer });
  });
});

describe("an end token that neither the tokenizer nor the parser calls so", () => {
  it.each([
    ["=2", { content: "=2" }],
    [`=${callOf("1")}`, { content: "=", tool_calls: [{ function: { name: "calc" } }] }],
  ])("is no text of an answer, whole or in pieces: %s", async (text, expected) => {
    const ids = [...exampleTokenizer.encode(`${text}<|user|>`, { addSpecialTokens: false })];
    const rollout = new ScriptedRollout(() =>
      generation(
        ids,
        ids.map(() => -1),
      ),
    );
    await withSession(rollout, async ({ client, session }) => {
      const params = { model: "m", messages: [{ role: "user" as const, content: "1" }], tools: [CALC] };
      const whole = await client.chat.completions.create(params);
      const streamed = await client.chat.completions.stream({ ...params, stream: true }).finalChatCompletion();
      for (const { choices } of [whole, streamed]) {
        const { message } = choices[0]!;
        expect({ ...message, content: message.content ?? "" }).toMatchObject(expected);
        const messages: Messages = [...params.messages, message, { role: "user", content: "2" }];
        await client.chat.completions.create({ ...params, messages });
        expect(session.exchanges.at(-1)!.parent!.answer.ids).toHaveLength(ids.length);
      }
    });
  });
});
