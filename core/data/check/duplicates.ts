import { createHash } from "node:crypto";
import { stringifyLosslessJson } from "../lossless-json.ts";
import { packChunk } from "../prompts/chunk-text.ts";
import { packPrompt } from "../prompts/measure-chunk.ts";
import { findingOf, type Finding } from "./finding.ts";
import type { CheckedRow } from "./read-prompts.ts";

/** Rows whose prompt, tools included, came before: with the same answer, or with another one, which no policy can learn. */
export function findDuplicates(rows: readonly CheckedRow[]): Finding[] {
  const first = new Map<string, { at: number; truth: string }>();
  const [same, other]: [number[], number[]] = [[], []];
  let example = "";
  for (const { at, row, prompt, dataSource } of rows) {
    const key = createHash("sha256")
      .update(`${dataSource}\n${packChunk([packPrompt(prompt)])}`)
      .digest("base64");
    const truth = stringifyLosslessJson((row.reward_model as { ground_truth?: unknown } | null)?.ground_truth);
    const seen = first.get(key);
    if (seen === undefined) {
      first.set(key, { at, truth });
    } else if (seen.truth === truth) {
      same.push(at);
    } else {
      if (other.length === 0) example = ` (row ${seen.at}: ${clip(seen.truth)}, row ${at}: ${clip(truth)})`;
      other.push(at);
    }
  }
  return [
    ...findingOf(
      "contradictions",
      "error",
      other,
      `The prompt came before with another ground truth${example}.`,
      "Decide which one is right, and leave the other row out.",
    ),
    ...findingOf(
      "duplicates",
      "warning",
      same,
      "The prompt came before.",
      "Leave the rows out, or weigh files on purpose.",
    ),
  ];
}

const clip = (text: string): string => (text.length > 40 ? `${text.slice(0, 40)}…` : text);
