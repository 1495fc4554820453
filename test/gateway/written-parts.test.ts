import { expect, it } from "@jest/globals";
import { writtenParts } from "../../core/agent/gateway/written-parts.ts";
import type { AnswerDelta, ParsedAnswer } from "../../core/agent/tool-parser.ts";

const call = { name: "f", arguments: {} };
const error = { raw: "<f>", reason: "broken" };
const answer: ParsedAnswer = { content: "AB", reasoning: "R", calls: [call], errors: [error] };
const told: AnswerDelta[] = [
  { type: "reasoning", text: "R" },
  { type: "content", text: "A" },
  { type: "error", error },
  { type: "call", index: 0, call },
  { type: "content", text: "B" },
];

it("an answer's parts stand in the order in which the parser told them", () => {
  expect(writtenParts(answer, told)).toEqual(
    told.map((delta) => (delta.type === "error" ? { type: "content", text: "<f>" } : delta)),
  );
});

it.each(["reasoning", "content", "error", "call"] as const)("nothing is lost where a parser tells no %s", (type) => {
  const some = told.filter((delta) => delta.type !== type);
  expect(writtenParts(answer, some)).toEqual([
    { type: "reasoning", text: "R" },
    { type: "content", text: "AB" },
    { type: "content", text: "<f>" },
    { type: "call", index: 0, call },
  ]);
});

it("an error whose text was told is not told again", () => {
  const inText = { ...error, inText: true };
  const deltas = told.map((delta): AnswerDelta => (delta.type === "error" ? { type: "error", error: inText } : delta));
  expect(writtenParts({ ...answer, errors: [inText] }, deltas)).toEqual(told.filter(({ type }) => type !== "error"));
});
