import { Template } from "@huggingface/jinja";
import { describe, expect, it } from "@jest/globals";
import { ChatTemplate } from "../../core/data/chat-template.ts";

const render = (source: string, content = "hello"): string =>
  new ChatTemplate(source, {}, "model/chat_template.jinja").render([{ role: "user", content }]);

const long = "x".repeat(60_000);

describe("a chat template", () => {
  it.each([
    ["a huge range", "{% for i in range(1000000000) %}a{% endfor %}"],
    ["a range that goes down", "{% for i in range(0, -1000000000, -1) %}a{% endfor %}"],
    [
      "nested loops",
      "{% for i in range(40000) %}{% for j in range(40000) %}{% for k in range(40000) %}{% endfor %}{% endfor %}{% endfor %}",
    ],
    [
      "a text that doubles",
      "{% set n = namespace(s='ab') %}{% for i in range(60) %}{% set n.s = n.s ~ n.s %}{% endfor %}",
    ],
    [
      "a list that doubles",
      "{% set n = namespace(s=[1]) %}{% for i in range(60) %}{% set n.s = n.s + n.s %}{% endfor %}",
    ],
    ["a text in pieces", "{{ messages[0].content.split('') | length }}"],
    ["a wide indent", "{{ 'a\nb' | indent(300000000) }}"],
  ])("that asks for too much ends with an error that names its file: %s", (_, source) => {
    expect(() => render(source, long)).toThrow(
      expect.objectContaining({
        code: "VERL_DATA_CHAT_TEMPLATE",
        message: expect.stringMatching(/^The chat template does too much: it /),
        location: { file: "model/chat_template.jinja" },
      }),
    );
  });

  it.each([
    ["in one text", "{{ messages[0].content }}", 10_485_760, "it makes a text of 10485760 characters"],
    [
      "time and again",
      "{% for i in range(1000) %}{% set x = messages[0].content %}{% endfor %}",
      2_000_000,
      "it does not",
    ],
  ])("is not blamed for messages that are too long for any template: %s", (_, source, length, why) => {
    expect(() => render(source, "x".repeat(length))).toThrow(
      expect.objectContaining({
        code: "VERL_DATA_CHAT_TEMPLATE",
        message: expect.stringContaining(
          `The messages have ${length + "user".length} characters, too many for the chat template: ${why}`,
        ),
        hint: expect.stringContaining("multi_turn.max_tool_response_length"),
      }),
    );
  });

  it("that calls itself without end is an error too", () => {
    expect(() => render("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}")).toThrow(
      expect.objectContaining({ code: "VERL_DATA_CHAT_TEMPLATE" }),
    );
  });

  it("splits long texts as ever", () => {
    const thought = `${long}</think>answer`;
    expect(render("{{ messages[0].content.split('</think>')[-1] }}", thought)).toBe("answer");
    expect(render("{{ messages[0].content.split() | length }}", `${long} ${long}\n${long}`)).toBe("3");
  });

  it("sees what the package's own templates see", () => {
    const source =
      "{{ [true, True, false, False, none, None] }} {{ range(3) }} {{ range(1, 8, 3) }} {{ range(5, 0, -2) }} {{ range(0) }} {{ strftime_now('%Y') }}";
    expect(render(source)).toBe(new Template(source).render({}));
    expect(() => render("{{ raise_exception('only users') }}")).toThrow("only users");
    expect(() => render("{{ range(1, 2, 0) }}")).toThrow("step must not be zero");
  });
});
