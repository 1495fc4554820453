import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { ERROR_CODES } from "../../core/errors/index.ts";
// @ts-expect-error -- a plain script without types
import { errorsPage } from "../../scripts/docs/errors.mjs";

const root = join(import.meta.dirname, "../..");
const codes = Object.keys(ERROR_CODES);

/** Every code that is written as a string somewhere in the TypeScript files of a folder. */
function codesIn(folder: string): Set<string> {
  const files = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" });
  const sources = files.filter((file) => file.endsWith(".ts") && file !== join("errors", "codes.ts"));
  const text = sources.map((file) => readFileSync(join(root, folder, file), "utf8")).join("\n");
  return new Set([...text.matchAll(/"(VERL_[A-Z_]+)"/g)].map(([, code]) => code!));
}

describe("the table of codes", () => {
  it("is sorted, and each code is VERL_AREA_WHAT", () => {
    expect(codes).toEqual([...codes].sort());
    for (const code of codes) expect(code).toMatch(/^VERL_[A-Z]+(_[A-Z]+)*$/);
  });

  it("says in one sentence when each is raised, no sentence twice", () => {
    const sentences = Object.values(ERROR_CODES).map(({ when }) => when);
    for (const sentence of sentences) expect(sentence).toMatch(/^[A-Z`"].*\.$/);
    expect(new Set(sentences).size).toBe(sentences.length);
  });

  it("holds no code that nothing raises", () => {
    const raised = new Set([...codesIn("core"), ...codesIn("plugins")]);
    expect(codes.filter((code) => !raised.has(code))).toEqual([]);
  });

  it("is what core/errors/README.md documents; `node scripts/docs/errors.mjs` writes it", () => {
    const page = (errorsPage as (table: typeof ERROR_CODES) => string)(ERROR_CODES);
    expect(readFileSync(join(root, "core/errors/README.md"), "utf8")).toBe(page);
  });
});
