import { describe, expect, it } from "@jest/globals";
import type OpenAI from "openai";
import { branchEnds, trajectoryOf } from "../../core/agent/gateway/index.ts";
import type { StreamOptions, ToolParser, ToolParserStream } from "../../core/agent/tool-parser.ts";
import { HermesToolParser } from "../../plugins/tool-parser/hermes.ts";
import { KimiK2ToolParser } from "../../plugins/tool-parser/kimi-k2.ts";
import { LettersTokenizer } from "./letters-tokenizer.ts";
import { CALC, calculating, callOf, ScriptedRollout, tokenizer, withSession } from "./support.ts";

type Messages = OpenAI.ChatCompletionMessageParam[];
const ASK: Messages = [{ role: "user", content: "17+25" }];

/** An agent as people write them. */
async function runAgent(client: OpenAI, streams: boolean): Promise<string> {
  const messages = [...ASK];
  for (let turn = 0; turn < 4; turn++) {
    const params = { model: "gpt-4o", messages, tools: [CALC] };
    const completion = streams
      ? await client.chat.completions.stream({ ...params, stream: true }).finalChatCompletion()
      : await client.chat.completions.create(params);
    const { message, finish_reason } = completion.choices[0]!;
    messages.push(message);
    if (finish_reason !== "tool_calls") return message.content ?? "";
    for (const call of message.tool_calls!) {
      if (call.type !== "function") throw new Error("no function");
      const { e } = JSON.parse(call.function.arguments) as { e: string };
      const [a = 0, b = 0] = e.split("+").map(Number);
      messages.push({ role: "tool", tool_call_id: call.id, content: String(a + b) });
    }
  }
  throw new Error("no end");
}

describe("an agent written with the openai package", () => {
  it.each([false, true])(
    "runs unchanged, and its tokens are kept as one trajectory (streaming: %s)",
    async (streams) => {
      const rollout = new ScriptedRollout(calculating);
      await withSession(rollout, async ({ client, session }) => {
        expect(await runAgent(client, streams)).toBe("=42");
        expect(rollout.requests.map(({ prompt }) => prompt)).toEqual([
          "<|user|>17+25<|end|><|assistant|>",
          `<|user|>17+25<|end|><|assistant|>${callOf("17+25")}<|end|><tool_response>42</tool_response><|assistant|>`,
        ]);
        const ends = branchEnds(session.exchanges);
        expect(ends).toHaveLength(1);
        const { promptIds, segments, ...rest } = trajectoryOf(ends[0]!);
        const texts = [promptIds, ...segments.map(({ ids }) => ids)].map((ids) => tokenizer.decode(ids));
        expect(texts).toEqual([
          "<|user|>17+25<|end|><|assistant|>",
          `${callOf("17+25")}<|end|>`,
          "<tool_response>42</tool_response><|assistant|>",
          "=42<|end|>",
        ]);
        expect(segments.map(({ trainable }) => trainable)).toEqual([true, false, true]);
        expect(segments[2]!.logprobs![0]).toBeCloseTo(-2);
        expect(rest).toMatchObject({ stopReason: "stop", numTurns: 4, weightVersion: 7 });
        expect(session.counts).toMatchObject({ requests: 2, failed: 0, aborted: 0, invalidCalls: 0 });
      });
    },
  );

  it("gets token counts, log-probs, names and reasons as from OpenAI", async () => {
    await withSession(new ScriptedRollout(() => "=42"), async ({ client, baseURL, apiKey }) => {
      const completion = await client.chat.completions.create({ model: "any", messages: ASK, logprobs: true });
      expect(completion).toMatchObject({
        object: "chat.completion",
        model: "any",
        usage: { prompt_tokens: 8, completion_tokens: 4, total_tokens: 12 },
      });
      const [choice] = completion.choices;
      expect(choice).toMatchObject({ index: 0, finish_reason: "stop", message: { role: "assistant", content: "=42" } });
      expect(choice!.logprobs!.content!.map(({ token }) => token)).toEqual(["=", "4", "2", "<|end|>"]);
      const cut = await client.chat.completions.create({ model: "any", messages: ASK, max_completion_tokens: 2 });
      expect(cut.choices[0]).toMatchObject({ finish_reason: "length", message: { content: "=4" } });
      const { data } = await client.models.list();
      expect(data.map(({ id }) => id)).toEqual(["policy"]);
      expect((await client.models.retrieve("gpt-4o")).id).toBe("gpt-4o");
      for (const scheme of ["Bearer", "bearer", "BEARER"]) {
        const { status } = await fetch(`${baseURL}/models`, { headers: { authorization: `${scheme} ${apiKey}` } });
        expect(status).toBe(200);
      }
    });
  });

  it("streams the parser's pieces, and token counts when asked", async () => {
    await withSession(new ScriptedRollout(() => `9999999999 9999999999${callOf("1+2")}`), async ({ client }) => {
      const stream = await client.chat.completions.create({
        model: "m",
        messages: ASK,
        tools: [CALC],
        stream: true,
        stream_options: { include_usage: true },
      });
      const chunks: OpenAI.ChatCompletionChunk[] = [];
      for await (const chunk of stream) chunks.push(chunk);
      const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta));
      expect(deltas[0]).toMatchObject({ role: "assistant" });
      expect(deltas.map(({ content }) => content ?? "").join("")).toBe("9999999999 9999999999");
      expect(deltas.filter(({ content }) => content).length).toBeGreaterThan(1);
      expect(deltas.flatMap(({ tool_calls }) => tool_calls ?? [])).toMatchObject([
        { index: 0, type: "function", function: { name: "calc", arguments: '{"e":"1+2"}' } },
      ]);
      expect(chunks.at(-2)!.choices[0]!.finish_reason).toBe("tool_calls");
      expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 8 } });
    });
  });

  it("is told what looks like a call and is none as text", async () => {
    const broken = "<tool_call>1+</tool_call>";
    for (const stream of [false, true] as const) {
      await withSession(new ScriptedRollout(() => broken), async ({ client, session }) => {
        const params = { model: "m", messages: ASK, tools: [CALC] };
        const { choices } = stream
          ? await client.chat.completions.stream({ ...params, stream }).finalChatCompletion()
          : await client.chat.completions.create(params);
        expect(choices[0]).toMatchObject({ finish_reason: "stop", message: { content: broken } });
        expect(session.counts.invalidCalls).toBe(1);
      });
    }
  });

  it.each([false, true])(
    "gets what is no call where the model wrote it, and goes on from that (streaming: %s)",
    async (streams) => {
      const broken = "<tool_call>{bad}</tool_call>";
      const tokenizer = new LettersTokenizer();
      const rollout = new ScriptedRollout(
        (_, number) => (number === 0 ? `${callOf("1")}A${broken}B` : "=1"),
        tokenizer,
      );
      await withSession(
        rollout,
        async ({ client, session }) => {
          const ask = async (messages: Messages) => {
            const params = { model: "m", messages, tools: [CALC] };
            const { choices } = streams
              ? await client.chat.completions.stream({ ...params, stream: true }).finalChatCompletion()
              : await client.chat.completions.create(params);
            return choices[0]!.message;
          };
          const message = await ask(ASK);
          expect(message).toMatchObject({ content: `A${broken}B`, tool_calls: [{ type: "function" }] });
          await ask([...ASK, message, { role: "tool", tool_call_id: message.tool_calls![0]!.id, content: "1" }]);
          expect(branchEnds(session.exchanges)).toHaveLength(1);
        },
        {},
        { tokenizer },
      );
    },
  );

  it.each([false, true])("gets an answer that was cut off as it was written (streaming: %s)", async (streams) => {
    const text = `1${callOf("2")}3<tool_call>{bad}</tool_call>4`;
    const tokenizer = new LettersTokenizer();
    const rollout = new ScriptedRollout(() => `${text}5`, tokenizer);
    await withSession(
      rollout,
      async ({ client }) => {
        const params = { model: "m", messages: ASK, tools: [CALC], max_tokens: tokenizer.encode(text).length };
        const { choices } = streams
          ? await client.chat.completions.stream({ ...params, stream: true }).finalChatCompletion()
          : await client.chat.completions.create(params);
        expect(choices[0]).toMatchObject({ finish_reason: "length", message: { content: text } });
      },
      {},
      { tokenizer },
    );
  });

  it.each([false, true])(
    "gets all of an answer whose parser tells nothing before its end (streaming: %s)",
    async (streams) => {
      class Silent extends HermesToolParser {
        override stream(options: StreamOptions): ToolParserStream {
          return super.stream({ ...options, onDelta: undefined });
        }
      }
      const broken = "<tool_call>{bad}</tool_call>";
      const tokenizer = new LettersTokenizer();
      await withSession(
        new ScriptedRollout(() => `A${broken}B${callOf("1")}`, tokenizer),
        async ({ client }) => {
          const params = { model: "m", messages: ASK, tools: [CALC] };
          const { choices } = streams
            ? await client.chat.completions.stream({ ...params, stream: true }).finalChatCompletion()
            : await client.chat.completions.create(params);
          expect(choices[0]!.message).toMatchObject({ content: `AB${broken}`, tool_calls: [{ type: "function" }] });
        },
        {},
        { tokenizer, parser: () => new Silent() },
      );
    },
  );

  it("completes plain text and token ids, and goes on from its own answers", async () => {
    const rollout = new ScriptedRollout((_, number) => ["=1", "=2", "=3"][number]!);
    await withSession(rollout, async ({ client, session }) => {
      const first = await client.completions.create({ model: "m", prompt: "1+1" });
      expect(first).toMatchObject({ object: "text_completion", choices: [{ text: "=1", finish_reason: "stop" }] });
      await client.completions.create({ model: "m", prompt: `1+1${first.choices[0]!.text}+5` });
      expect(rollout.requests[1]!.prompt).toBe("1+1=1<|end|>+5");
      const ids = [...rollout.requests[1]!.promptIds, ...tokenizer.encode("=2<|end|>+7", { addSpecialTokens: false })];
      let streamed = "";
      for await (const { choices } of await client.completions.create({ model: "m", prompt: ids, stream: true })) {
        streamed += choices[0]?.text ?? "";
      }
      expect(streamed).toBe("=3");
      expect(session.exchanges.map(({ parent }) => parent?.index)).toEqual([undefined, 0, 1]);
    });
  });

  it("completes the one prompt of a list, and tells log-probs by a number", async () => {
    await withSession(new ScriptedRollout(() => "=2"), async ({ client }) => {
      for (const prompt of [["1+1"], [[14, 23, 14]], [14, 23, 14]] as (string[] | number[])[]) {
        const { choices } = await client.completions.create({ model: "m", prompt, logprobs: 1 });
        expect(choices[0]).toMatchObject({ text: "=2", logprobs: { tokens: ["=", "2", "<|end|>"] } });
        expect(choices[0]!.logprobs!.token_logprobs).toHaveLength(3);
      }
      const several = client.completions.create({ model: "m", prompt: ["1+1", "1+2"] });
      await expect(several).rejects.toThrow("several prompts are several requests");
      const likeliest = client.completions.create({ model: "m", prompt: "1+1", logprobs: 6 });
      await expect(likeliest).rejects.toThrow("a number from 0 to 5");
    });
  });

  it.each([false, true])(
    "gets reasoning apart, and calls as text, where it offers no tools (streaming: %s)",
    async (streams) => {
      const tokenizer = new LettersTokenizer();
      const rollout = new ScriptedRollout(() => `<think>So.</think>Yes${callOf("1+1")}`, tokenizer);
      const never = (): ToolParser => {
        throw new Error("No parser is asked for.");
      };
      await withSession(
        rollout,
        async ({ client, session }) => {
          const [messages, answer] = [[...ASK], `Yes${callOf("1+1")}`];
          const { choices } = streams
            ? await client.chat.completions.stream({ model: "m", messages, stream: true }).finalChatCompletion()
            : await client.chat.completions.create({ model: "m", messages });
          expect(choices[0]!.message).toMatchObject({ content: answer, reasoning_content: "So." });
          messages.push({ role: "assistant", content: answer }, { role: "user", content: "?" });
          await client.chat.completions.create({ model: "m", messages });
          expect(session.exchanges[1]!.parent).toBe(session.exchanges[0]);
        },
        {},
        { tokenizer, parser: never },
      );
    },
  );

  it.each([false, true])(
    "gets calls with ids of their own where the model repeats one (streaming: %s)",
    async (streams) => {
      const call = '<|tool_call_begin|>functions.calc:0<|tool_call_argument_begin|>{"e":"1"}<|tool_call_end|>';
      const calls = `<|tool_calls_section_begin|>${call}${call}<|tool_calls_section_end|>`;
      const tokenizer = new LettersTokenizer([call]);
      await withSession(
        new ScriptedRollout(() => calls, tokenizer),
        async ({ client }) => {
          const params = { model: "m", messages: ASK, tools: [CALC] };
          const { choices } = streams
            ? await client.chat.completions.stream({ ...params, stream: true }).finalChatCompletion()
            : await client.chat.completions.create(params);
          const ids = choices[0]!.message.tool_calls!.map(({ id }) => id);
          expect(ids).toEqual(["functions.calc:0", "functions.calc:0-2"]);
        },
        {},
        { tokenizer, parser: () => new KimiK2ToolParser() },
      );
    },
  );

  it.each([false, true])(
    "gets one call where it asked for no more, and goes on from all that was sampled (streaming: %s)",
    async (streams) => {
      const two = `9${callOf("1+2")}${callOf("3+4")}`;
      const rollout = new ScriptedRollout((_, number) => (number === 0 ? two : "=3"));
      await withSession(rollout, async ({ client, session }) => {
        const params = { model: "m", tools: [CALC], parallel_tool_calls: false };
        const ask = async (messages: Messages) =>
          streams
            ? await client.chat.completions.stream({ ...params, messages, stream: true }).finalChatCompletion()
            : await client.chat.completions.create({ ...params, messages });
        const { message, finish_reason } = (await ask(ASK)).choices[0]!;
        expect(finish_reason).toBe("tool_calls");
        expect(message).toMatchObject({ content: "9", tool_calls: [{ function: { arguments: '{"e":"1+2"}' } }] });
        expect(message.tool_calls).toHaveLength(1);
        await ask([...ASK, message, { role: "tool", tool_call_id: message.tool_calls![0]!.id, content: "3" }]);
        expect(rollout.requests[1]!.prompt).toContain(`${two}<|end|><tool_response>3</tool_response>`);
        expect(branchEnds(session.exchanges)).toHaveLength(1);
        expect(session.counts).toMatchObject({ callsLeftOut: 1, invalidCalls: 0 });
      });
    },
  );

  it("ends answers at its stop texts", async () => {
    await withSession(new ScriptedRollout(() => "=42+17=59"), async ({ client, session }) => {
      const { choices } = await client.chat.completions.create({ model: "m", messages: ASK, stop: ["7=", "+1"] });
      expect(choices[0]).toMatchObject({ finish_reason: "stop", message: { content: "=42" } });
      expect(tokenizer.decode(session.exchanges[0]!.answer.ids)).toBe("=42+1");
      expect(session.exchanges[0]!.answer.logprobs).toHaveLength(5);
    });
  });
});
