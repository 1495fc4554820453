import { describe, expect, it } from "@jest/globals";
import type { ParsedAnswer } from "../../core/agent/index.ts";
import { feed, parserOf, unitsOf } from "./helpers.ts";
import { MORE_CASES } from "./more-cases.ts";
import { PUBLIC_REPORTS, type ParserCase } from "./public-reports.ts";

function check(answer: ParsedAnswer, { content = "", reasoning = "", calls = [], errors = [] }: ParserCase): void {
  expect({
    content: answer.content.trim(),
    reasoning: answer.reasoning.trim(),
    calls: answer.calls,
    errors: answer.errors.map(({ reason }) => reason),
  }).toEqual({
    content,
    reasoning,
    calls: calls.map(([name, args, rest]) => ({ name, arguments: args, ...rest })),
    errors: errors.map((part) => expect.stringContaining(part)),
  });
}

describe.each([
  ["public reports", PUBLIC_REPORTS],
  ["more of the kind", MORE_CASES],
])("%s", (_title, cases) => {
  it.each(cases.map((given) => [`${given.format} ${given.name}`, given] as const))("%s", (_name, given) => {
    const { format, text, options } = given;
    const parser = parserOf(format);
    const whole = parser.parse(text, options);
    check(whole, given);
    for (let cut = 0; cut <= text.length; cut++) {
      expect(feed(parser, [text.slice(0, cut), text.slice(cut)], options).answer).toEqual(whole);
    }
    expect(feed(parser, unitsOf(text), options).answer).toEqual(whole);
  });
});
