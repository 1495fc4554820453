import type { AnswerDelta, ParsedAnswer } from "../tool-parser.ts";

/** A part of an answer as the client gets it; what was meant as a call and is none is content. */
export type WrittenPart = Exclude<AnswerDelta, { type: "error" | "retract" }>;

/**
 * An answer's parts in the order in which the model wrote them.
 * @param deltas what the parser told of it. One that tells not all has its errors stand behind the content, and its calls behind them
 */
export function writtenParts(answer: ParsedAnswer, deltas: readonly AnswerDelta[]): WrittenPart[] {
  const { content, reasoning, calls, errors } = answer;
  let parts: WrittenPart[] = [];
  let found = 0;
  // No call of an answer that was cut off is one in the end, and the errors have its text.
  const callsAreErrors = calls.length === 0;
  for (const delta of deltas) {
    if (delta.type === "retract") {
      parts = [{ type: "reasoning", text: delta.reasoning }];
      found = 0;
    } else if (delta.type === "error" || (delta.type === "call" && callsAreErrors)) {
      const error = errors[found++];
      if (error !== undefined && error.inText !== true) parts.push({ type: "content", text: error.raw });
    } else parts.push(delta);
  }
  const texts = errors.flatMap((error) => (error.inText === true ? [] : [error.raw]));
  const whole = content.length + texts.reduce((sum, { length }) => sum + length, 0);
  const isAll =
    found === errors.length &&
    parts.filter(({ type }) => type === "call").length === calls.length &&
    textOf(parts, "content").length === whole &&
    textOf(parts, "reasoning") === reasoning;
  if (isAll) return parts;
  return [
    { type: "reasoning", text: reasoning },
    ...[content, ...texts].map((text) => ({ type: "content", text }) as const),
    ...calls.map((call, index) => ({ type: "call", index, call }) as const),
  ];
}

/** The text of all parts of a type. */
export const textOf = (parts: readonly WrittenPart[], type: "content" | "reasoning"): string =>
  parts.map((part) => (part.type === type ? part.text : "")).join("");
