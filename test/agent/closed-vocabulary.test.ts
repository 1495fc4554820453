import { describe, expect, it } from "@jest/globals";
import { TurnTokens } from "../../core/agent/turn-tokens.ts";
import { ChatTokenizer } from "./support/chat-tokenizer.ts";
import { callOf, converse, registerOnce } from "./support/conversation.ts";
import { testInteractions } from "./support/interactions.ts";
import { testTools, toolsFile } from "./support/tools.ts";

/*
 * A tokenizer without a token for every character, as small models have it: what templates write and nobody samples may have none.
 */

registerOnce([...testTools, ...testInteractions]);

const MODES = ["append", "fork", "fail"] as const;

describe("an answer with a call", () => {
  // Whatever of it is looked at, the tags are no tokens in parts.
  const numbers = [1, 11111, 1111111111, 1e20];

  it.each(MODES)("is found unchanged, however long it is (template_drift: %s)", async (mode) => {
    for (const a of numbers) {
      const { text, metrics, log } = await converse({
        tools: toolsFile("add"),
        without: "<",
        overrides: [`template_drift=${mode}`],
        say: (turn) => (turn === 0 ? callOf("add", { a, b: 0 }) : "done"),
      });
      expect(text.endsWith("done<|end|>")).toBe(true);
      expect(metrics["agent_loop/template_drift"]).toBe(0);
      expect(log.lines).toEqual([]);
    }
  });
});

describe("a template that rewrites answers with characters that are no token", () => {
  const REWRITING = `{% for message in messages %}<|{{ message.role }}|>{% if message.role == 'assistant' and not loop.last %}~{% endif %}{{ message.content }}<|end|>
{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}`;
  const play = (mode: string) =>
    converse({
      template: REWRITING,
      without: "~",
      interactions: "interaction:\n  - name: again\n    class_name: test-again\n",
      row: { interaction_kwargs: { name: "again" } },
      overrides: [`template_drift=${mode}`],
      say: (turn) => `answer ${turn}`,
    });

  it.each(["append", "fork"])("goes on with what was shown (template_drift: %s)", async (mode) => {
    const { prompts, metrics, log } = await play(mode);
    expect(prompts[2]).toBe(
      "<|user|>go<|end|>\n<|assistant|>answer 0<|end|>\n<|user|>again<|end|>\n<|assistant|>answer 1<|end|>\n<|user|>again<|end|>\n<|assistant|>",
    );
    expect(metrics["agent_loop/template_drift"]).toBe(1);
    expect(log.lines.join("\n")).toContain('stood "a", now "~"');
  });

  it("fails by the drift where the run says so", async () => {
    await expect(play("fail")).rejects.toMatchObject({
      code: "VERL_AGENT_TEMPLATE_DRIFT",
      details: { shown: "a", now: "~" },
    });
  });
});

it("finds what closes an answer where calls of other arguments end alike in the midst of a mark", () => {
  const marks = {
    special: ["<pad>", "<|end|>", "<|user|>", "<|assistant|>", "<|tool|>"],
    plain: ["<function=add>", "</function>", "<parameter=x>", "</parameter>"],
  };
  const template = `{% for message in messages %}<|{{ message.role }}|>{{ message.content }}{% for call in message.tool_calls or [] %}<function=add>{% if call.function.arguments.x is defined %}<parameter=x>{{ call.function.arguments.x }}</parameter>{% endif %}</function>{% endfor %}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}`;
  const tokenizer = new ChatTokenizer(template, marks, "<>/=");
  const calls = [{ id: "call00000", type: "function", function: { name: "add", arguments: { x: 1 } } }];
  const answer = { role: "assistant", content: "", tool_calls: calls };
  const after = (last: number): string =>
    tokenizer.decode(new TurnTokens(tokenizer, {}).after(answer, last, [{ role: "tool", content: "5" }]));
  expect(after(tokenizer.eosTokenId)).toBe("<|tool|>5<|end|><|assistant|>");
  expect(after(tokenizer.encode("</function>")[0]!)).toBe("<|end|><|tool|>5<|end|><|assistant|>");
});
