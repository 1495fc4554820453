import { readFileSync } from "node:fs";
import { join } from "node:path";

export const root = join(import.meta.dirname, "../..");

/** A fenced block of a page. */
export interface Block {
  readonly file: string;
  /** Line of the opening fence. */
  readonly line: number;
  /** What the fence says; empty for output and drawings. */
  readonly language: string;
  readonly text: string;
}

/** All fenced blocks of a page of the repository, in order. */
export const blocksOf = (file: string): Block[] => blocksIn(file, readFileSync(join(root, file), "utf8"));

/** All fenced blocks of a page's text, in order. */
export function blocksIn(file: string, page: string): Block[] {
  const lines = page.split("\n");
  const blocks: Block[] = [];
  for (let at = 0; at < lines.length; at++) {
    const language = /^```(\w*)$/.exec(lines[at]!)?.[1];
    if (language === undefined) continue;
    const end = lines.indexOf("```", at + 1);
    blocks.push({ file, line: at + 1, language, text: lines.slice(at + 1, end).join("\n") });
    at = end;
  }
  return blocks;
}
