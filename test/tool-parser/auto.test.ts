import { describe, expect, it } from "@jest/globals";
import { createRunContainer, loadPlugins, TOKENIZER } from "../../core/registry/index.ts";
import { toolFormatOf } from "../../plugins/tool-parser/auto.ts";

const parserFor = async (chatTemplate: string | undefined) => {
  await loadPlugins([]);
  return createRunContainer({ [TOKENIZER]: { chatTemplate } }).create("tool_parser", "auto");
};

describe("the format of a chat template", () => {
  it.each([
    ["hermes", '{{- \'<tool_call>\\n{"name": "\' }}'],
    ["qwen3_coder", "{{- '<tool_call>\\n<function=' + name }}"],
    ["glm45", "{{ '<tool_call>' + name }}<arg_key>{{ k }}</arg_key>"],
    ["mistral", "{{ '[TOOL_CALLS]' + name }}"],
    ["kimi_k2", "<|tool_call_begin|>{{ id }}<|tool_call_argument_begin|>"],
    ["deepseek_v3", "<｜tool▁call▁begin｜>function<｜tool▁sep｜>{{ name }}\\n```json"],
    ["deepseek_v3_1", "<｜tool▁call▁begin｜>{{ name }}<｜tool▁sep｜>"],
    ["deepseek_v3_2", "<｜DSML｜function_calls>\\n<｜DSML｜invoke name="],
    ["gpt_oss", "<|start|>assistant<|channel|>commentary<|message|>"],
    ["llama4_pythonic", "<|python_start|>"],
    ["llama3_json", "<|python_tag|>"],
    [undefined, "{{ message.content }}"],
  ])("is %s", (format, template) => {
    expect(toolFormatOf(template)).toBe(format);
  });

  it("is what `auto` reads", async () => {
    const parser = await parserFor("[TOOL_CALLS]");
    expect(parser.parse("[TOOL_CALLS]f{}").calls).toEqual([{ name: "f", arguments: {} }]);
  });

  it("is that of the template for tools, where it is another", async () => {
    await loadPlugins([]);
    const tokenizer = { chatTemplate: "{{ message.content }}", toolTemplate: "[TOOL_CALLS]" };
    const parser = createRunContainer({ [TOKENIZER]: tokenizer }).create("tool_parser", "auto");
    expect(parser.parse("[TOOL_CALLS]f{}").calls).toEqual([{ name: "f", arguments: {} }]);
  });

  it.each([["{{ message.content }}"], [undefined]])("must be known for `auto`: %s", async (template) => {
    await expect(parserFor(template)).rejects.toMatchObject({ code: "VERL_AGENT_TOOL_FORMAT" });
  });
});
