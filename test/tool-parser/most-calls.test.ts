import { describe, expect, it } from "@jest/globals";
import { parserOf } from "./helpers.ts";
import { tool } from "./public-reports.ts";

const MOST = 32_768;
const TOOLS = [tool("f", {})];

/** The shortest calls of each format, one after the other, and what ends an answer. */
const FORMATS: readonly (readonly [format: string, call: string, open?: string, end?: string])[] = [
  ["json", '{"name":"f"}'],
  ["json", '{"name":"f"},', "[", "]"],
  ["llama3_json", '{"name":"f"};', "", "<|eot_id|>"],
  ["llama4_pythonic", "[f()]", "", "<|eot|>"],
  ["pythonic", "f(),", "[", "]<|eom_id|>"],
  ["mistral", "[TOOL_CALLS]f{}", "", "</s>"],
  ["mistral", '[{"name":"f"}]', "[TOOL_CALLS]", "</s>"],
  ["hermes", '<tool_call>{"name":"f"}</tool_call>', "", "<|im_end|>"],
  ["qwen3_coder", "<function=f></function>", "<tool_call>", "</tool_call><|im_end|>"],
  [
    "kimi_k2",
    "<|tool_call_begin|>f:0<|tool_call_argument_begin|>{}<|tool_call_end|>",
    "<|tool_calls_section_begin|>",
    "<|tool_calls_section_end|>",
  ],
];

describe.each(FORMATS)("%s, %s by the ten thousand", (format, call, open = "", end = "") => {
  const read = (count: number, piece = Infinity) => {
    const text = open + call.repeat(count) + end;
    const stream = parserOf(format).stream({ tools: TOOLS });
    for (let at = 0; at < text.length; at += Math.min(piece, text.length)) stream.push(text.slice(at, at + piece));
    const { calls, errors } = stream.end();
    return { calls: calls.length, errors };
  };

  it("are all read, up to as many as an answer may have", () => {
    expect(read(MOST)).toEqual({ calls: MOST, errors: [] });
  });

  it("and what follows is one error, whole and in pieces", () => {
    const { calls, errors } = read(MOST + 100);
    expect({ calls, errors: errors.length }).toEqual({ calls: MOST, errors: 1 });
    expect(errors[0]!.reason).toBe(`more than ${MOST} calls in one answer: the rest is not read`);
    expect(errors[0]!.raw.length).toBeGreaterThan(90 * call.length);
    expect(read(MOST + 100, 70_001)).toEqual({ calls, errors });
  });
});

describe.each(["json", "llama3_json", "llama4_pythonic"])("%s, values that only look like calls", (format) => {
  const call = '\n{"name":"f","parameters":{}}';
  const read = (count: number) => {
    const { calls, errors, content } = parserOf(format).parse(`x{"name":"g"}`.repeat(count) + call);
    return { calls: calls.length, errors: errors.length, left: content.includes("parameters") };
  };

  it("hide no call behind them, by the thousand", () => {
    expect(read(8000)).toEqual({ calls: 1, errors: 0, left: false });
  });

  it("are not looked at any more when no answer can have as many", () => {
    expect(read(8200)).toEqual({ calls: 0, errors: 0, left: true });
  });
});
