import { describe, expect, it } from "@jest/globals";
import { formatError } from "../../core/errors/format-error.ts";
import { printable } from "../../core/errors/printable.ts";
import { VerlError } from "../../core/errors/verl-error.ts";
import { createLogger } from "../../core/registry/logger.ts";

const EVIL = "a\u001b[31mb\u009b2Jc\r\u202ed";

describe("printable", () => {
  it("writes control characters out, and leaves all else", () => {
    expect(printable(EVIL)).toBe("a\\x1b[31mb\\x9b2Jc\\x0d\\u202ed");
    expect(printable("a\n\tb é 漢 😀")).toBe("a\n\tb é 漢 😀");
  });

  it("cleans errors and log lines", () => {
    const error = new VerlError("VERL_DATA_EMPTY", EVIL, { hint: EVIL, location: { file: EVIL, path: EVIL } });
    const lines: string[] = [];
    createLogger({ write: (line) => lines.push(line) }).warn(EVIL, { answer: EVIL });
    const texts = [formatError(error), formatError(new Error(EVIL)), formatError(EVIL), ...lines];
    for (const text of texts) expect(text).not.toMatch(/[\u001b\u009b\r\u202e]/);
    expect(formatError(error, { color: true })).toContain("\u001b[31mVERL_DATA_EMPTY\u001b[0m");
  });
});
