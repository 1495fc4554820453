import { describe, expect, it } from "@jest/globals";
import { ScanStream } from "../../core/agent/tool-parsing/streaming-parser.ts";
import { ADVERSARIAL_FORMATS, adversarialTexts } from "./adversarial.ts";
import { parserOf } from "./helpers.ts";

const LENGTH = 12_000;

/** Letters that a parser looks at, in all. */
function stepsFor(format: string, pieces: readonly string[]): number {
  const stream = parserOf(format).stream();
  if (!(stream instanceof ScanStream)) throw new Error(`${format} does not count its steps`);
  for (const piece of pieces) stream.push(piece);
  stream.end();
  return stream.turn.source.steps;
}

describe.each(ADVERSARIAL_FORMATS)("%s", (format) => {
  it("takes steps in proportion to the text, whatever its shape", () => {
    const steep = adversarialTexts(format, LENGTH).flatMap(({ shape, text }) => {
      const half = stepsFor(format, [text.slice(0, text.length / 2)]);
      const whole = stepsFor(format, [text]);
      return whole > 60 * text.length || whole > 3 * half + 1000 ? [{ shape, half, whole }] : [];
    });
    expect(steep).toEqual([]);
  });

  it("does not look again at what it has seen when pieces come", () => {
    for (const { text } of adversarialTexts(format, 3000).slice(0, 6)) {
      expect(stepsFor(format, text.split(""))).toBeLessThan(4 * stepsFor(format, [text]) + 20 * text.length);
    }
  });
});
