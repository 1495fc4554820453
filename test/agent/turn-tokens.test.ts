import { describe, expect, it } from "@jest/globals";
import { TurnTokens } from "../../core/agent/turn-tokens.ts";
import { APPENDING, ChatTokenizer, FORGETTING } from "./support/chat-tokenizer.ts";
import { callOf, converse, registerOnce } from "./support/conversation.ts";
import { testInteractions } from "./support/interactions.ts";
import { testTools, toolsFile } from "./support/tools.ts";

registerOnce([...testTools, ...testInteractions]);

const answer = (content: string) => ({ role: "assistant", content });
const user = (content: string) => ({ role: "user", content });

describe("TurnTokens", () => {
  const tokenizer = new ChatTokenizer();
  const tokens = new TurnTokens(tokenizer, {});
  const after = (last: number, ...messages: { role: string; content: string }[]): string =>
    tokenizer.decode(tokens.after(answer("anything"), last, messages));

  it("makes the tokens behind the last sampled one: the template's newline, the message, the next prompt (case 76)", () => {
    expect(after(tokenizer.eosTokenId, user("more"))).toBe("\n<|user|>more<|end|>\n<|assistant|>");
    expect(after(tokenizer.eosTokenId, user("a"), user("b"))).toBe(
      "\n<|user|>a<|end|>\n<|user|>b<|end|>\n<|assistant|>",
    );
  });

  it("closes an answer first that ended with another token", () => {
    const [closing] = tokenizer.encode("</tool_call>");
    expect(after(closing!, user("more"))).toBe("<|end|>\n<|user|>more<|end|>\n<|assistant|>");
  });

  it("does not depend on the calls that are in the history", () => {
    const tool = { role: "tool", content: "5" };
    const calls = [{ id: "call00000", type: "function", function: { name: "add", arguments: { a: 1 } } }];
    const withCalls = tokens.after({ ...answer("x"), tool_calls: calls }, tokenizer.eosTokenId, [tool]);
    expect([...withCalls]).toEqual([...tokens.after(answer("y"), tokenizer.eosTokenId, [tool])]);
  });

  it("leaves default system prompts out", () => {
    const system = new ChatTokenizer(`<|user|>You are helpful.<|end|>${APPENDING}`);
    const ids = new TurnTokens(system, {}).after(answer("x"), 1, [user("more")]);
    expect(system.decode(ids)).toBe("\n<|user|>more<|end|>\n<|assistant|>");
  });

  it("names the first token that differs", () => {
    expect(tokens.compare("abc", "abcd")).toBeUndefined();
    expect(tokens.compare("abXd", "abYd")).toMatchObject({ at: 2, shown: "X", now: "Y" });
    expect(tokens.compare("abX", "ab")).toMatchObject({ at: 2, shown: "X", now: "" });
  });

  it("refuses a template that changes the answer as soon as it is not the last message", () => {
    const fickle = new ChatTokenizer(
      "{% for message in messages %}{{ loop.last }}<|{{ message.role }}|>{{ message.content }}<|end|>{% endfor %}",
    );
    expect(() => new TurnTokens(fickle, {}).after(answer("x"), 1, [user("more")])).toThrow(
      expect.objectContaining({ code: "VERL_AGENT_TEMPLATE_DRIFT" }),
    );
  });
});

const THINKING = {
  template: FORGETTING,
  interactions: "interaction:\n  - name: again\n    class_name: test-again\n",
  row: { interaction_kwargs: { name: "again" } },
  say: (turn: number) => `<think>thought ${turn}</think>answer ${turn}`,
};

describe("a template that drops earlier reasoning", () => {
  it("is noticed, and the conversation goes on with what the model was shown", async () => {
    const { prompts, trajectory, metrics, log } = await converse(THINKING);
    expect(prompts[2]).toContain("<think>thought 0</think>answer 0");
    expect(trajectory.segments.map(({ trainable }) => trainable)).toEqual([true, false, true, false, true]);
    expect(metrics["agent_loop/template_drift"]).toBe(1);
    expect(log.lines[0]).toMatch(/rewrites history when .* at character 31 stood "<", now "a"/);
  });

  it("is not found where a template appends", async () => {
    const straight = await converse({
      tools: toolsFile("ping"),
      say: (turn: number) => (turn === 0 ? callOf("ping") : "x"),
    });
    expect(straight.metrics["agent_loop/template_drift"]).toBe(0);
  });

  it("forks the trajectory where the run says so: the rewritten history is context, and nothing in it is trained", async () => {
    const { prompts, trajectory, text } = await converse({
      ...THINKING,
      overrides: ["template_drift=fork"],
    });
    expect(prompts[2]).not.toContain("thought 0");
    expect(prompts[2]).not.toContain("thought 1");
    expect(text).toBe(
      `⟦answer 0<|end|>\n<|user|>again<|end|>\n<|assistant|>answer 1<|end|>\n<|user|>again<|end|>\n<|assistant|>⟧<think>thought 2</think>answer 2<|end|>`,
    );
    expect(trajectory).toMatchObject({ numTurns: 7 });
  });

  it("fails the sample where the run says so, with the first differing token", async () => {
    await expect(converse({ ...THINKING, overrides: ["template_drift=fail"] })).rejects.toMatchObject({
      code: "VERL_AGENT_TEMPLATE_DRIFT",
      details: { shown: "<", now: "a", at: 31 },
    });
  });
});
