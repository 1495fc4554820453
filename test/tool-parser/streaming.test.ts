import { describe, expect, it } from "@jest/globals";
import { openAiToolCall } from "../../core/agent/index.ts";
import { parseLosslessJson } from "../../core/data/index.ts";
import { feed, joined, parserOf, unitsOf } from "./helpers.ts";
import { MORE_CASES } from "./more-cases.ts";
import { PUBLIC_REPORTS } from "./public-reports.ts";

const CASES = [...PUBLIC_REPORTS, ...MORE_CASES];

describe("what is told while an answer comes", () => {
  const settled = CASES.filter(({ options }) => options?.finishReason !== "length");
  it.each(settled.map((given) => [`${given.format} ${given.name}`, given] as const))(
    "adds up: %s",
    (_name, { format, text, options }) => {
      for (const pieces of [[text], unitsOf(text)]) {
        const { answer, deltas } = feed(parserOf(format), pieces, options);
        expect(joined(deltas)).toEqual(answer);
      }
    },
  );

  it("is each thing once, content at once and a call when it is whole", () => {
    const pieces = [
      "Hel",
      "lo <",
      "b> <tool_",
      'call>\n{"name": "sum", "arguments": {"items": ',
      '[{"',
      'v": 1}, {"v": 2}]}}',
      "\n</tool_call>",
    ];
    const { deltas } = feed(parserOf("hermes"), pieces);
    expect(deltas).toEqual([
      { type: "content", text: "Hel" },
      { type: "content", text: "lo " },
      { type: "content", text: "<b> " },
      { type: "call", index: 0, call: { name: "sum", arguments: { items: [{ v: 1 }, { v: 2 }] } } },
    ]);
  });

  it("says when all before was reasoning", () => {
    const { deltas, answer } = feed(parserOf("hermes"), ["Hm.", "</think>", "So."]);
    expect(deltas.map(({ type }) => type)).toEqual(["content", "retract", "content"]);
    expect(answer).toMatchObject({ reasoning: "Hm.", content: "So." });
  });

  it("takes all of the text for reasoning then, what stands between calls and stray tags too", () => {
    const drafts =
      '</tool_call>[{"name": "f", "arguments": {}}, {"name": "g", "arguments": {}}] <tool_call>{"name": "f"}\n';
    for (const format of ["hermes", "json", "glm45"]) {
      const { answer } = feed(parserOf(format), unitsOf(`${drafts}</think>So.`));
      expect(answer).toEqual({ content: "So.", reasoning: drafts, calls: [], errors: [] });
    }
  });

  it("takes back no reasoning that calls may be taken out of", () => {
    const text = 'a<tool_call>{"name": "f", "arguments": {}}</tool_call></think>\n';
    const { deltas } = feed(parserOf("hermes"), [text], { recoverReasoning: true });
    expect(deltas.slice(-4)).toEqual([
      { type: "retract", reasoning: "" },
      { type: "content", text: "\n" },
      { type: "reasoning", text: "a" },
      { type: "call", index: 0, call: { name: "f", arguments: {} } },
    ]);
  });

  it("tells recovered calls at the end", () => {
    const text = '<think>a<tool_call>{"name": "f", "arguments": {}}</tool_call>';
    const { deltas, answer } = feed(parserOf("hermes"), [text], { recoverReasoning: true });
    expect(deltas.at(-1)).toEqual({ type: "call", index: 0, call: { name: "f", arguments: {} } });
    expect(answer.reasoning).toBe("a");
  });
});

describe("the form that goes over the wire", () => {
  it("encodes arguments once and keeps digits and letters", () => {
    const [call] = parserOf("hermes").parse(
      '<tool_call>{"name": "f", "arguments": "{\\"city\\": \\"Zürich\\", \\"id\\": 9007199254740993}"}</tool_call>',
    ).calls;
    const wire = openAiToolCall(call!, "call_1");
    expect(wire).toEqual({
      id: "call_1",
      type: "function",
      function: { name: "f", arguments: '{"city":"Zürich","id":9007199254740993}' },
    });
    expect(parseLosslessJson(wire.function.arguments)).toEqual({ city: "Zürich", id: 9007199254740993n });
  });

  it("keeps a key that is no ordinary one as the model wrote it", () => {
    const text = '<tool_call>{"name": "f", "arguments": {"__proto__": {"admin": true}}}</tool_call>';
    const [call] = parserOf("hermes").parse(text).calls;
    expect(Object.keys(call!.arguments)).toEqual(["__proto__"]);
    expect(({} as { admin?: boolean }).admin).toBeUndefined();
  });
});
