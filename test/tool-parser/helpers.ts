import type { AnswerDelta, ParsedAnswer, ParseOptions, ToolParser } from "../../core/agent/index.ts";
import { ScanStream } from "../../core/agent/tool-parsing/streaming-parser.ts";
import { toolParsers } from "../../plugins/tool-parser/index.ts";

/** Every format that needs nothing to be constructed. */
export const FORMATS = toolParsers.map(({ key }) => key).filter((key) => key !== "auto");

export function parserOf(format: string): ToolParser {
  const provided = toolParsers.find(({ key }) => key === format);
  if (provided === undefined) throw new Error(`no format ${format}`);
  return new (provided.entry.create as new () => ToolParser)();
}

/** Feeds the pieces, and keeps the deltas. */
export function feed(parser: ToolParser, pieces: readonly string[], { finishReason, ...options }: ParseOptions = {}) {
  const deltas: AnswerDelta[] = [];
  const stream = parser.stream({ ...options, onDelta: (delta) => void deltas.push(delta) });
  for (const piece of pieces) stream.push(piece);
  return { answer: stream.end({ finishReason }), deltas };
}

/** Letters that a parser looks at, and those that are copied to join pieces. */
export function workFor(format: string, pieces: Iterable<string>): { steps: number; copied: number } {
  const stream = parserOf(format).stream();
  if (!(stream instanceof ScanStream)) throw new Error(`${format} does not count its steps`);
  for (const piece of pieces) stream.push(piece);
  stream.end();
  return stream.turn.source;
}

/** The answer that deltas add up to. */
export function joined(deltas: readonly AnswerDelta[]): ParsedAnswer {
  let answer: ParsedAnswer = { content: "", reasoning: "", calls: [], errors: [] };
  for (const delta of deltas) {
    if (delta.type === "retract") answer = { content: "", reasoning: delta.reasoning, calls: [], errors: [] };
    else if (delta.type === "call") {
      if (delta.index !== answer.calls.length)
        throw new Error(`call ${delta.index} told as number ${answer.calls.length}`);
      answer.calls.push(delta.call);
    } else if (delta.type === "error") answer.errors.push(delta.error);
    else answer[delta.type] += delta.text;
  }
  return answer;
}

export const unitsOf = (text: string): string[] => text.split("");
