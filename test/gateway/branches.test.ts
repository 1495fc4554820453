import { describe, expect, it } from "@jest/globals";
import type OpenAI from "openai";
import { assembleTrajectories } from "../../core/agent/assemble.ts";
import {
  branchEnds,
  pickBranch,
  sampledTokens,
  trajectoriesOf,
  trajectoryOf,
  type GatewaySession,
} from "../../core/agent/gateway/index.ts";
import type { ParsedAnswer } from "../../core/agent/tool-parser.ts";
import { HermesToolParser } from "../../plugins/tool-parser/hermes.ts";
import { CALC, callOf, ScriptedRollout, tokenizer, withSession } from "./support.ts";

type Messages = OpenAI.ChatCompletionMessageParam[];
type Assistant = OpenAI.ChatCompletionAssistantMessageParam;
const text = (ids: Int32Array): string => tokenizer.decode(ids);
const masked = ({ segments }: ReturnType<typeof trajectoryOf>): string =>
  segments.map(({ ids, trainable }) => (trainable ? text(ids) : `(${text(ids)})`)).join("");
const idOf = (message: Messages[number]): string => (message as Assistant).tool_calls![0]!.id;
/** The answer as a client hands it back that has read its call by a schema. */
const withArguments = (message: Assistant, args: string, name = "calc"): Assistant => ({
  ...message,
  tool_calls: [{ id: idOf(message), type: "function", function: { name, arguments: args } }],
});

describe("requests of one session", () => {
  it("are one conversation where the messages go on from an answer, whatever a client did to its form", async () => {
    const rollout = new ScriptedRollout((_, number) => [`0${callOf("1+2")}`, "=3"][number]!);
    await withSession(rollout, async ({ client, session }) => {
      const ask: Messages = [
        {
          role: "user",
          content: [
            { type: "text", text: "1+" },
            { type: "text", text: "2" },
          ],
        },
      ];
      const first = await client.chat.completions.create({ model: "m", messages: ask, tools: [CALC] });
      const [call] = first.choices[0]!.message.tool_calls!;
      if (call?.type !== "function") throw new Error("no call");
      const again = {
        id: call.id,
        type: "function" as const,
        function: { name: "calc", arguments: '{ "e" : "1+2" }' },
      };
      const messages: Messages = [
        { role: "user", content: "1+2" },
        { role: "assistant", content: [{ type: "text", text: "0 " }], tool_calls: [again] },
        { role: "tool", tool_call_id: call.id, content: "3" },
      ];
      await client.chat.completions.create({ model: "m", messages, tools: [CALC] });
      expect(session.exchanges[1]!.parent).toBe(session.exchanges[0]);
      expect(masked(trajectoryOf(session.exchanges[1]!))).toBe(
        `0${callOf("1+2")}<|end|>(<tool_response>3</tool_response><|assistant|>)=3<|end|>`,
      );
    });
  });

  it("go on from an answer that the client gave a name, as LangGraph does with those of a named agent", async () => {
    const script = [callOf("1+2"), callOf("3+4"), "=3"];
    await withSession(new ScriptedRollout((_, number) => script[number]!), async ({ client, session }) => {
      const messages: Messages = [{ role: "user", content: "1+2", name: "u" }];
      for (let turn = 0; turn < 3; turn++) {
        const { choices } = await client.chat.completions.create({ model: "m", messages, tools: [CALC] });
        const { content, tool_calls } = choices[0]!.message;
        messages.push({ role: "assistant", content: content ?? "", tool_calls, name: "adder" });
        for (const { id } of tool_calls ?? []) messages.push({ role: "tool", tool_call_id: id, content: "3" });
      }
      expect(branchEnds(session.exchanges)).toHaveLength(1);
      expect(session.counts.historyBreaks).toBe(0);
    });
  });

  it("go on from an answer whose arguments the client's schema has changed, and train on those that were sampled", async () => {
    const script = [callOf("1"), callOf("2"), "=3"];
    await withSession(new ScriptedRollout((_, number) => script[number] ?? "=4"), async ({ client, session }) => {
      const messages: Messages = [{ role: "user", content: "1+2" }];
      const ask = async (asked = messages) =>
        (await client.chat.completions.create({ model: "m", messages: asked, tools: [CALC] })).choices[0]!.message;
      for (const changed of ['{"e":"1","k":5}', "{}"]) {
        messages.push(withArguments(await ask(), changed));
        messages.push({ role: "tool", tool_call_id: idOf(messages.at(-1)!), content: "3" });
      }
      await ask();
      expect(session.exchanges.map(({ parent }) => parent?.index)).toEqual([undefined, 0, 1]);
      const result = "(<tool_response>3</tool_response><|assistant|>)";
      expect(masked(trajectoryOf(session.exchanges[2]!))).toBe(
        `${callOf("1")}<|end|>${result}${callOf("2")}<|end|>${result}=3<|end|>`,
      );
      const [question, answer, told] = messages as [Messages[number], Assistant, Messages[number]];
      await ask([question, { ...answer, content: "=9" }, told]);
      await ask([question, withArguments(answer, "{}", "other"), told]);
      const { [0]: call } = answer.tool_calls!;
      await ask([
        question,
        { ...answer, tool_calls: [{ ...call!, id: "call_1" }] },
        { ...told, tool_call_id: "call_1" } as never,
      ]);
      expect(session.exchanges.slice(3).map(({ parent }) => parent)).toEqual([undefined, undefined, undefined]);
      expect(session.counts.historyBreaks).toBe(3);
    });
  });

  it.each([
    ["numbers its calls", () => "functions.calc:0"],
    ["copies an id that it was shown", (shown: string) => shown],
  ])("tell equal answers apart by their arguments where a model %s", async (_, idFor) => {
    let shown: string | undefined;
    class Numbering extends HermesToolParser {
      override parse(...given: Parameters<HermesToolParser["parse"]>): ParsedAnswer {
        const parsed = super.parse(...given);
        return { ...parsed, calls: parsed.calls.map((call) => ({ ...call, id: shown && idFor(shown) })) };
      }
    }
    const use = async (client: OpenAI, session: GatewaySession): Promise<void> => {
      const ask = (messages: Messages, n = 1) =>
        client.chat.completions.create({ model: "m", messages, tools: [CALC], n });
      const question: Messages = [{ role: "user", content: "1" }];
      shown = idOf((await ask(question)).choices[0]!.message);
      const { choices } = await ask(question, 2);
      for (const { message } of choices) {
        await ask([...question, message, { role: "tool", tool_call_id: idOf(message), content: "3" }]);
      }
      expect(session.exchanges.map(({ parent }) => parent?.index)).toEqual([undefined, undefined, undefined, 1, 2]);
    };
    const rollout = new ScriptedRollout((__, number) => callOf(`${number}`));
    await withSession(rollout, ({ client, session }) => use(client, session), {}, { parser: () => new Numbering() });
  });

  it("begin another conversation where the history, or the tools, are others", async () => {
    const rollout = new ScriptedRollout((_, number) => `=${number}`);
    await withSession(rollout, async ({ client, session }) => {
      const ask = (messages: Messages, tools?: OpenAI.ChatCompletionTool[]) =>
        client.chat.completions.create({ model: "m", messages, tools });
      const user = (content: string): Messages[number] => ({ role: "user", content });
      const assistant = (content: string): Messages[number] => ({ role: "assistant", content });
      await ask([user("1+1")]);
      await ask([user("1+1"), assistant("=0"), user("2+2")]);
      await ask([user("1+1"), assistant("=9"), user("2+2")]);
      await ask([user("1+1"), assistant("=0"), user("2+2")], [CALC]);
      expect(session.exchanges.map(({ parent }) => parent?.index)).toEqual([undefined, 0, undefined, undefined]);
      expect(branchEnds(session.exchanges).map(({ index }) => index)).toEqual([1, 2, 3]);
    });
  });

  it("begin in a batch's response where their prompt is too long for its prompt", async () => {
    const rollout = new ScriptedRollout((_, number) => `=${number}`);
    const sampling = { temperature: 1, top_k: -1, top_p: 1, max_tokens: 20, stop_token_ids: [], seed: 5 };
    const use = async (client: OpenAI, session: GatewaySession): Promise<void> => {
      const messages: Messages = [{ role: "user", content: "1+1" }];
      const ask = (tools?: OpenAI.ChatCompletionTool[]) =>
        client.chat.completions.create({ model: "m", messages, tools });
      await ask([CALC]);
      messages.push({ role: "assistant", content: "=0" }, { role: "user", content: "2+2" });
      await ask();
      messages.push({ role: "assistant", content: "=1" }, { role: "user", content: "3" });
      await ask();
      expect(session.counts.historyBreaks).toBe(1);
      const [first, second] = trajectoriesOf(session.exchanges);
      expect(text(first!.promptIds)).toBe("<|user|>1+1<|end|><|assistant|>");
      expect(text(second!.promptIds)).toBe("<|user|>1+1<|end|><|assistant|>=0");
      expect(masked(second!)).toBe(
        "(<|end|><|user|>2+2<|end|><|assistant|>)=1<|end|>(<|user|>3<|end|><|assistant|>)=2<|end|>",
      );
      // A batch has room for eight tokens of prompt and twenty of response.
      expect(rollout.requests.map(({ sampling: { max_tokens: most } }) => most)).toEqual([20, 13, 6]);
      const { batch, cut } = assembleTrajectories([second!], { promptLength: 8, responseLength: 20, padTokenId: 0 });
      expect(cut).toBe(0);
      const ids = [...batch["input_ids"]!.data].slice(0, session.exchanges[2]!.length);
      expect(text(Int32Array.from(ids))).toBe(`${rollout.requests[2]!.prompt}=2<|end|>`);
    };
    await withSession(rollout, ({ client, session }) => use(client, session), { sampling, promptLength: 8 });
  });

  it("branch where several go on from one answer; what they share is trained on once", async () => {
    const rollout = new ScriptedRollout((_, number) => ["=1", "=22", "=333", "=4"][number]!);
    await withSession(rollout, async ({ client, session }) => {
      const start: Messages = [{ role: "user", content: "1+1" }];
      const ask = (...more: Messages) => client.chat.completions.create({ model: "m", messages: [...start, ...more] });
      await ask();
      const answer = { role: "assistant", content: "=1" } as const;
      await ask(answer, { role: "user", content: "2" });
      await ask(answer, { role: "user", content: "3" });
      await ask(answer, { role: "user", content: "4" });
      const all = trajectoriesOf(session.exchanges);
      expect(all.map(masked)).toEqual([
        "=1<|end|>(<|user|>2<|end|><|assistant|>)=22<|end|>",
        "(=1<|end|>)(<|user|>3<|end|><|assistant|>)=333<|end|>",
        "(=1<|end|>)(<|user|>4<|end|><|assistant|>)=4<|end|>",
      ]);
      const ends = branchEnds(session.exchanges);
      expect(ends.map(sampledTokens)).toEqual([7, 8, 6]);
      expect(pickBranch(ends, "longest")).toBe(ends[1]);
      expect(pickBranch(ends, "last")).toBe(ends[2]);
      expect(pickBranch(ends, "fail")).toBeUndefined();
      expect(pickBranch(ends.slice(1, 2), "fail")).toBe(ends[1]);
      expect(masked(trajectoryOf(ends[1]!))).toBe("=1<|end|>(<|user|>3<|end|><|assistant|>)=333<|end|>");
    });
  });

  it.each<[string, string, string[]]>([
    ["had nothing to say", "", []],
    ["was stopped at once", "+9", ["+"]],
  ])("are samples of their own where the same text is asked for once more, whose answer %s", async (_, first, stop) => {
    const rollout = new ScriptedRollout((_prompt, number) => (number === 0 ? first : "=2"));
    await withSession(rollout, async ({ client, session }) => {
      for (let request = 0; request < 2; request++) {
        await client.completions.create({ model: "m", prompt: "1+1", stop });
      }
      expect(rollout.requests[1]!.prompt).toBe("1+1");
      expect(branchEnds(session.exchanges)).toHaveLength(2);
    });
  });

  it("go on from a text that was cut where nothing is added to it, and not from one that the model ended", async () => {
    const rollout = new ScriptedRollout((_, number) => ["=123", "23", "4"][number]!);
    await withSession(rollout, async ({ client, session }) => {
      await client.completions.create({ model: "m", prompt: "1+1", max_tokens: 2 });
      await client.completions.create({ model: "m", prompt: "1+1=1" });
      await client.completions.create({ model: "m", prompt: "1+1=123" });
      expect(session.exchanges.map(({ parent }) => parent?.index)).toEqual([undefined, 0, 0]);
      expect(rollout.requests.map(({ prompt }) => prompt)).toEqual(["1+1", "1+1=1", "1+1=123"]);
    });
  });

  it("may have very many conversations", async () => {
    await withSession(new ScriptedRollout(() => "=1"), async ({ client, session }) => {
      await client.chat.completions.create({ model: "m", messages: [{ role: "user", content: "1" }] });
      const [first] = session.exchanges;
      for (let index = 1; index < 200_000; index++) session.exchanges.push({ ...first!, index });
      expect(pickBranch(branchEnds(session.exchanges), "longest")!.index).toBe(199_999);
      const idle = session.exchanges[0]!;
      session.exchanges[0] = { ...idle, endedAt: 0 };
      expect(session.takeIdle(1)).toHaveLength(1);
      expect(session.exchanges).toHaveLength(199_999);
    });
  });

  it("may ask for several answers, each with a seed of its own", async () => {
    const rollout = new ScriptedRollout((_, number) => `=${number}`);
    await withSession(rollout, async ({ client, session }) => {
      const { choices, usage } = await client.chat.completions.create({
        model: "m",
        messages: [{ role: "user", content: "1" }],
        n: 3,
      });
      expect(choices.map(({ message }) => message.content)).toEqual(["=0", "=1", "=2"]);
      expect(usage!.completion_tokens).toBe(9);
      expect(new Set(rollout.requests.map(({ sampling }) => sampling.seed)).size).toBe(3);
      expect(branchEnds(session.exchanges)).toHaveLength(3);
    });
  });

  it("give up their idle conversations, whole ones only", async () => {
    const rollout = new ScriptedRollout((_, number) => `=${number}`);
    await withSession(rollout, async ({ client, session }) => {
      const ask = (...messages: Messages) => client.chat.completions.create({ model: "m", messages });
      await ask({ role: "user", content: "1" });
      await ask({ role: "user", content: "2" });
      const between = Date.now() + 1;
      await new Promise((resolve) => setTimeout(resolve, 5));
      await ask({ role: "user", content: "1" }, { role: "assistant", content: "=0" }, { role: "user", content: "3" });
      expect(session.takeIdle(between).map(({ index }) => index)).toEqual([1]);
      expect(session.exchanges.map(({ index }) => index)).toEqual([0, 2]);
      expect(session.takeIdle(Infinity).map(({ index }) => index)).toEqual([0, 2]);
    });
  });

  it("keep those with a request under way, and those whose last one has just failed", async () => {
    const waiting: ((answer: string) => void)[] = [];
    const rollout = new ScriptedRollout((_, number) => {
      if (number === 0) return "=0";
      return new Promise((resolve, reject) =>
        waiting.push((answer) => (answer === "" ? reject(new Error("down")) : resolve(answer))),
      );
    });
    await withSession(rollout, async ({ client, session }) => {
      const first = { role: "user" as const, content: "1" };
      await client.chat.completions.create({ model: "m", messages: [first] });
      const goOn = () =>
        client.chat.completions.create({
          model: "m",
          messages: [first, { role: "assistant", content: "=0" }, { role: "user", content: "2" }],
        });
      const [one, two] = [goOn(), goOn()];
      while (waiting.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
      expect(session.takeIdle(Infinity)).toEqual([]);
      waiting[0]!("=1");
      await Promise.race([one, two]);
      expect(session.takeIdle(Infinity)).toEqual([]);
      const before = Date.now();
      waiting[1]!("");
      await Promise.allSettled([one, two]);
      expect(session.takeIdle(before)).toEqual([]);
      expect(session.takeIdle(Infinity).map(({ index }) => index)).toEqual([0, 1]);
    });
  });
});
