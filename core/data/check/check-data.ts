import type { PromptTools } from "../dataset.ts";
import type { Row } from "../parquet/parquet-type.ts";
import type { Prompt } from "../prompts/measure-chunk.ts";
import { findDuplicates } from "./duplicates.ts";
import { findingOf, Reasons, type Finding } from "./finding.ts";
import { countNullFields } from "./null-fields.ts";
import { readPrompts, type CheckedRow } from "./read-prompts.ts";

/** What rows are checked against. */
export interface CheckOptions {
  file: string;
  messagesKey: string;
  toolsKey: string;
  /** Column that says how a row is scored; undefined: rows are not scored. */
  sourceKey?: string;
  tools?: PromptTools;
  /** Whether registered score functions compare answers with `reward_model.ground_truth`. */
  needsGroundTruth: boolean;
}

/** The rows that a run could read, and all that is wrong without a look at the tokenizer. */
export function checkRows(
  rows: readonly Row[],
  options: CheckOptions,
): { readable: CheckedRow[]; findings: Finding[] } {
  const { sourceKey } = options;
  const { readable, findings } = readPrompts(rows, { ...options, sourceKey });
  return {
    readable,
    findings: [
      ...findings,
      ...(sourceKey === undefined ? [] : [...findMissingTruths(readable, options), ...findDuplicates(readable)]),
      ...findNullFields(rows, options),
    ],
  };
}

function findMissingTruths(rows: readonly CheckedRow[], { needsGroundTruth }: CheckOptions): Finding[] {
  const has = ({ row }: CheckedRow): boolean =>
    ((row.reward_model as { ground_truth?: unknown } | null | undefined)?.ground_truth ?? null) !== null;
  const withTruth = new Set(rows.filter(has).map(({ dataSource }) => dataSource));
  const without = rows.filter((one) => !has(one));
  const isHole = ({ dataSource }: CheckedRow): boolean => needsGroundTruth || withTruth.has(dataSource);
  const at = (some: readonly CheckedRow[]): number[] => some.map((one) => one.at);
  return [
    ...findingOf(
      "ground_truth",
      "error",
      at(without.filter(isHole)),
      "There is no `reward_model.ground_truth`.",
      "Score functions compare answers with it: give every row of a data source one.",
    ),
    ...findingOf(
      "ground_truth",
      "warning",
      at(without.filter((one) => !isHole(one))),
      "No row of the data source has `reward_model.ground_truth`; the score function gets undefined.",
    ),
  ];
}

/** Fields that are null because other rows have them. */
function findNullFields(rows: readonly Row[], { messagesKey, toolsKey }: CheckOptions): Finding[] {
  return countNullFields(rows).map(({ path, nulls, of }) => {
    const column = /^[^.[]*/.exec(path)![0];
    const taken = [messagesKey, toolsKey].includes(column) || /(^|\.)(tools|interaction)_kwargs\b/.test(path);
    const empty = nulls === of;
    const fate = taken
      ? "They are taken away before the template and the tools see them."
      : "Score functions see null there.";
    return {
      check: "null_fields",
      level: "note" as const,
      count: nulls,
      rows: [],
      message: `${path} is null in ${empty ? `each of its values (${of})` : `${nulls} of ${of} values`}. ${fate}`,
    };
  });
}

/** Of prompts that no thread could measure, which ones are refused and why: one finding a kind of reason. */
export function findRefused(
  rows: readonly CheckedRow[],
  measure: (prompt: Prompt) => number,
): { lengths: Int32Array; findings: Finding[] } {
  const lengths = new Int32Array(rows.length);
  const refused = new Reasons();
  rows.forEach(({ at, prompt }, index) => {
    try {
      lengths[index] = measure(prompt);
    } catch (error) {
      lengths[index] = -1;
      refused.note((error as Error).message, at);
    }
  });
  return { lengths, findings: refused.findings("template") };
}

/** Rows that are too long, and rows without a token. A length below 0 is of a row that could not be measured. */
export function findLengths(
  rows: readonly CheckedRow[],
  lengths: Int32Array,
  { limit, option, dropped }: { limit: number; option: string; dropped: boolean },
): Finding[] {
  const where = (test: (length: number) => boolean): number[] =>
    rows.filter((_, index) => test(lengths[index]!)).map(({ at }) => at);
  const longest = lengths.reduce((most, length) => Math.max(most, length), 0);
  return [
    ...findingOf(
      "overlong",
      dropped ? "warning" : "error",
      where((length) => length > limit),
      `The row is longer than ${option}=${limit} tokens; the longest has ${longest}.`,
      dropped
        ? "They are left out of training or cut."
        : `Set data.filter_overlong_prompts=true, data.truncation, or ${option}=${longest}.`,
    ),
    ...findingOf(
      "empty",
      "error",
      where((length) => length === 0),
      "The chat template makes no token of the row.",
    ),
  ];
}
