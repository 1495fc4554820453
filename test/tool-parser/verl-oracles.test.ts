import { describe, expect, it } from "@jest/globals";
import { stringifyLosslessJson } from "../../core/data/index.ts";
import { parserOf } from "./helpers.ts";

interface Oracle {
  text: string;
  /** What verl makes of it: content, and calls as `[name, arguments]` with arguments as text. */
  verl: { content: string; calls: [string, string][] };
  /** What we make of it where we depart, and why. */
  ours?: { content: string; calls: [string, string][]; errors: string[]; why: string };
}

/** verl-facts.md A.6, with the content of empty calls written out. */
const ORACLES: Record<string, Oracle[]> = {
  hermes: [
    { text: "hi", verl: { content: "hi", calls: [] } },
    {
      text: '<tool_call>\n{"name": "f", "arguments": {"a": 1, "b": "é"}}\n</tool_call>',
      verl: { content: "", calls: [["f", '{"a":1,"b":"é"}']] },
    },
    {
      text: 'x<tool_call>{"name":"f","arguments":{}}</tool_call>y<tool_call>{"name":"g","arguments":[1]}</tool_call>z',
      verl: {
        content: "xyz",
        calls: [
          ["f", "{}"],
          ["g", "[1]"],
        ],
      },
      ours: {
        content: "xyz",
        calls: [["f", "{}"]],
        errors: ["arguments must be an object"],
        why: "a list cannot be passed to a tool",
      },
    },
    {
      text: '<tool_call>{"name":"f"}</tool_call>',
      verl: { content: "", calls: [] },
      ours: { content: "", calls: [["f", "{}"]], errors: [], why: "a call without arguments is a call" },
    },
    {
      text: '<tool_call>{bad}</tool_call> <tool_call>{"name":"ok","arguments":"{\\"q\\":1}"}</tool_call>',
      verl: { content: " ", calls: [["ok", '"{\\"q\\":1}"']] },
      ours: {
        content: " ",
        calls: [["ok", '{"q":1}']],
        errors: ["the call is not valid JSON"],
        why: "arguments in a string are decoded once; what is broken is told",
      },
    },
    {
      text: '<tool_call>{"name":"f","arguments":{}}',
      verl: { content: '<tool_call>{"name":"f","arguments":{}}', calls: [] },
      ours: { content: "", calls: [["f", "{}"]], errors: [], why: "the call is whole; only its tag is missing" },
    },
    {
      text: '<tool_call><tool_call>{"name":"f","arguments":{}}</tool_call></tool_call>',
      verl: { content: "</tool_call>", calls: [] },
      ours: { content: "", calls: [["f", "{}"]], errors: [], why: "doubled tags are clear enough" },
    },
    {
      text: '<tool_call>{"name": 3, "arguments": {}}</tool_call>',
      verl: { content: "", calls: [] },
      ours: { content: "", calls: [], errors: ["the call has no name"], why: "nothing is dropped silently" },
    },
    {
      text: '<tool_call>{"name": "f", "arguments": {"x":1e3,"y":1.0,"z":true}}</tool_call>',
      verl: { content: "", calls: [["f", '{"x":1000.0,"y":1.0,"z":true}']] },
      ours: {
        content: "",
        calls: [["f", '{"x":1000,"y":1,"z":true}']],
        errors: [],
        why: "a number has one form in JavaScript",
      },
    },
  ],
  gpt_oss: [
    { text: "plain", verl: { content: "plain", calls: [] } },
    {
      text: '<|channel|>analysis<|message|>think <|call|> more<|end|><|start|>assistant<|channel|>commentary to=functions.w <|constrain|>json<|message|>{"a":1}<|call|>',
      verl: { content: "", calls: [["w", '{"a":1}']] },
    },
    {
      text: "<|start|>assistant<|channel|>commentary to=functions.w <|constrain|>json<|message|>{bad<|call|>tail<|pad|>",
      verl: { content: "tail", calls: [["w", "{bad"]] },
      ours: { content: "tail", calls: [], errors: ["the call is not valid JSON"], why: "no tool takes it" },
    },
    {
      text: '<|channel|>commentary to=functions.w <|constrain|>json<|message|>{"a":1}<|call|>',
      verl: { content: '<|channel|>commentary to=functions.w <|constrain|>json<|message|>{"a":1}<|call|>', calls: [] },
      ours: { content: "", calls: [["w", '{"a":1}']], errors: [], why: "the prompt had the start tag" },
    },
    {
      text: '<|start|>assistant to=functions.w<|channel|>commentary <|constrain|>json<|message|>{"a":1}<|call|>',
      verl: {
        content: '<|start|>assistant to=functions.w<|channel|>commentary <|constrain|>json<|message|>{"a":1}<|call|>',
        calls: [],
      },
      ours: { content: "", calls: [["w", '{"a":1}']], errors: [], why: "the format allows the recipient in the role" },
    },
    {
      text: ["a", "b"]
        .map(
          (name, i) =>
            `<|start|>assistant<|channel|>commentary to=functions.${name} <|constrain|>json<|message|>${i + 1}<|call|>`,
        )
        .join(""),
      verl: {
        content: "",
        calls: [
          ["a", "1"],
          ["b", "2"],
        ],
      },
      ours: {
        content: "",
        calls: [],
        errors: ["arguments must be an object", "arguments must be an object"],
        why: "a number cannot be passed to a tool",
      },
    },
  ],
};

describe.each(Object.entries(ORACLES))("%s beside verl", (format, oracles) => {
  it.each(oracles)("$text", ({ text, verl, ours }) => {
    const { content, calls, errors } = parserOf(format).parse(text);
    expect({
      content,
      calls: calls.map(({ name, arguments: args }) => [name, stringifyLosslessJson(args)]),
      errors: errors.map(({ reason }) => reason),
    }).toEqual({ ...verl, errors: [], ...(ours && { content: ours.content, calls: ours.calls, errors: ours.errors }) });
  });
});
