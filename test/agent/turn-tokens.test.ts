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

  it("goes on behind the answer as it is then where a template writes it otherwise once it is not the last", () => {
    const fickle = new ChatTokenizer(
      "{% for message in messages %}{{ loop.last }}<|{{ message.role }}|>{{ message.content }}<|end|>{% endfor %}",
    );
    const ids = new TurnTokens(fickle, {}).after(answer("x"), fickle.eosTokenId, [user("more")]);
    expect(fickle.decode(ids)).toBe("true<|user|>more<|end|>");
  });

  it("takes the place of the last answer's end token where that is there for none but the last", () => {
    const ending = (last: string, other: string) =>
      new ChatTokenizer(
        `{% for message in messages %}<|{{ message.role }}|>{{ message.content }}{% if loop.last and message.role == 'assistant' %}${last}{% else %}${other}{% endif %}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}`,
      );
    for (const [last, other] of [
      ["<|end|>", ""],
      ["", "<|end|>"],
      ["<|end|>", "<pad>"],
    ] as const) {
      const chat = ending(last, other);
      const ids = new TurnTokens(chat, {}).after(answer("x"), chat.eosTokenId, [user("more")]);
      expect(chat.decode(ids)).toBe(`<|user|>more${other}<|assistant|>`);
    }
  });

  it("refuses a template that shows nothing of an answer that messages follow", () => {
    const blind = new ChatTokenizer(
      "{% for message in messages %}{% if loop.last or message.role != 'assistant' %}{{ message.content }}{% endif %}{% endfor %}",
    );
    expect(() => new TurnTokens(blind, {}).after(answer("x"), 1, [user("more")])).toThrow(
      expect.objectContaining({ code: "VERL_AGENT_TEMPLATE_DRIFT" }),
    );
  });
});

/** What models' own templates are strict about, each with the rest of `APPENDING`. */
const strict = (
  check: string,
  tool = "<|tool|>{{ message.content }}<|end|>",
): string => `{% set ns = namespace(name=none) %}
{%- for message in messages %}
{%- set calls = message.tool_calls or [] %}
{%- ${check} %}
{%- if message.role == 'tool' %}${tool}
{%- else %}<|{{ message.role }}|>{{ message.content }}{% if calls %}{% set ns.name = calls[0].function.name %}<tool_call>{{ ns.name }}</tool_call>{% endif %}<|end|>
{%- endif %}
{%- endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}`;

describe("TurnTokens with a strict template", () => {
  const callOfTool = (id: string, name: string) => ({ id, type: "function", function: { name, arguments: {} } });
  const answerOf = (...calls: object[]) => ({ role: "assistant", content: "x", tool_calls: calls });
  const result = (content: string, id?: string) => ({
    role: "tool",
    content,
    ...(id === undefined ? {} : { tool_call_id: id }),
  });
  const shown = (
    template: string,
    last: { role: string; content: string },
    ...messages: ReturnType<typeof result>[]
  ) => {
    const tokenizer = new ChatTokenizer(template);
    return tokenizer.decode(new TurnTokens(tokenizer, {}).after(last, tokenizer.eosTokenId, messages));
  };
  const BOTH = "<|tool|>5<|end|><|tool|>7<|end|><|assistant|>";
  const calls = [callOfTool("call00000", "add"), callOfTool("call00001", "sub")];
  const results = [result("5", "call00000"), result("7", "call00001")];

  it("shows the results of parallel calls where it takes one call an answer", () => {
    const template = strict("if calls|length > 1 %}{{ raise_exception('one call at once') }}{% endif");
    expect(shown(template, answerOf(...calls), ...results)).toBe(BOTH);
  });

  it("shows the error of a call that could not be read, and a result under a short id, where it wants ids of nine letters", () => {
    const template = strict(
      "if message.role == 'tool' and (message.tool_call_id is not defined or message.tool_call_id|length != 9) %}{{ raise_exception('ids have nine letters') }}{% endif",
    );
    expect(shown(template, answer("x"), result("Error: no JSON"))).toBe("<|tool|>Error: no JSON<|end|><|assistant|>");
    expect(shown(template, answerOf(callOfTool("0", "add")), result("5", "0"))).toBe("<|tool|>5<|end|><|assistant|>");
  });

  it("shows an error where no tool may speak without a call, and puts each result under its own tool's name", () => {
    const template = strict(
      "if message.role == 'tool' and ns.name is none %}{{ raise_exception('no call before') }}{% endif",
      "<|tool|>{{ ns.name }}: {{ message.content }}<|end|>",
    );
    expect(shown(template, answer("x"), result("Error: no JSON"))).toContain("Error: no JSON<|end|><|assistant|>");
    expect(shown(template, answerOf(...calls), ...results)).toBe(
      "<|tool|>add: 5<|end|><|tool|>sub: 7<|end|><|assistant|>",
    );
  });

  it("leaves results together where the template joins them, whatever they say", () => {
    const joined =
      "{% if loop.previtem is not defined or loop.previtem.role != 'tool' %}<|user|>{% endif %}[{{ message.content }}]";
    const text = shown(
      strict("if false %}{% endif", joined),
      answerOf(...calls),
      result("add", "call00000"),
      results[1]!,
    );
    expect(text).toContain("[add][7]");
  });

  it("tells the template's own reason where nothing helps", () => {
    const never = strict("if message.role == 'tool' %}{{ raise_exception('no tools here') }}{% endif");
    expect(() => shown(never, answerOf(...calls), ...results)).toThrow(/no tools here/);
  });
});

describe("a template that refuses what the history has", () => {
  const TOOLS = toolsFile("add");

  it("does not end the conversation", async () => {
    const { metrics, log } = await converse({
      tools: TOOLS,
      template: strict("if calls|length > 1 %}{{ raise_exception('one call at once') }}{% endif"),
      say: (turn) => (turn === 0 ? callOf("add", { a: 1, b: 2 }).repeat(2) : "done"),
    });
    expect(metrics["agent_loop/template_drift"] ?? 0).toBe(0);
    expect(log.lines.join()).toContain("one call at once");
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
