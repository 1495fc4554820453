import { describe, expect, it } from "@jest/globals";
import { inOrder, type ToolCall, type ToolCallError } from "../../core/agent/index.ts";
import { feed, parserOf } from "./helpers.ts";
import { MORE_CASES } from "./more-cases.ts";
import { PUBLIC_REPORTS } from "./public-reports.ts";

const BAD = "<tool_call>{bad}</tool_call>";
const call = (name: string): string => `<tool_call>{"name": "${name}"}</tool_call>`;
const shown = (text: string, options = {}): string[] =>
  inOrder(parserOf("hermes").parse(text, options)).map((entry) => ("reason" in entry ? "bad" : entry.name));

describe("calls and errors", () => {
  it("have the order in which the model wrote them", () => {
    expect(shown(BAD + call("f") + BAD + BAD + call("g"))).toEqual(["bad", "f", "bad", "bad", "g"]);
    expect(shown(call("f") + call("g") + BAD)).toEqual(["f", "g", "bad"]);
    expect(parserOf("hermes").parse(call("f") + BAD).errors).toEqual([
      { raw: BAD, reason: "the call is not valid JSON", callsBefore: 1 },
    ]);
  });

  it("keep it where reasoning is taken back or recovered, and where the answer was cut off", () => {
    expect(shown(`${call("draft")}</think>${BAD}${call("f")}`)).toEqual(["bad", "f"]);
    const recoverReasoning = true;
    expect(shown(`${call("f")}<think>${BAD}${call("g")}`, { recoverReasoning })).toEqual(["f", "bad", "g"]);
    const { errors } = parserOf("hermes").parse(call("f") + BAD, { finishReason: "length" });
    expect(errors.map(({ raw, callsBefore }) => [raw, callsBefore])).toEqual([
      [call("f"), 0],
      [BAD, 0],
    ]);
  });

  it("put errors of a parser that gives no place behind the calls", () => {
    const calls = [{ name: "f", arguments: {} }];
    expect(inOrder({ calls, errors: [{ raw: "x", reason: "y" }] })).toEqual([calls[0], { raw: "x", reason: "y" }]);
  });

  it("come in the order in which they are told", () => {
    for (const { format, text, options } of [...PUBLIC_REPORTS, ...MORE_CASES]) {
      if (options?.finishReason === "length") continue;
      const { answer, deltas } = feed(parserOf(format), [text], options);
      const told = deltas
        .slice(deltas.findLastIndex(({ type }) => type === "retract") + 1)
        .flatMap((delta): (ToolCall | ToolCallError)[] =>
          delta.type === "call" ? [delta.call] : delta.type === "error" ? [delta.error] : [],
        );
      expect(inOrder(answer)).toEqual(told);
    }
  });
});
