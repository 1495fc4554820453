import { isVerlError } from "../../errors/verl-error.ts";
import { asMessages, asString, readTools } from "../columns.ts";
import type { PromptTools } from "../dataset.ts";
import type { Row } from "../parquet/parquet-type.ts";
import type { Prompt } from "../prompts/measure-chunk.ts";
import { findingOf, Reasons, type Finding } from "./finding.ts";

export interface ReadPromptsOptions {
  file: string;
  /** Column of the messages. */
  messagesKey: string;
  toolsKey: string;
  /** Column that says how a row is scored; undefined: none is needed. */
  sourceKey: string | undefined;
  /** Tools of rows that bring none. */
  tools?: PromptTools;
}

/** A row that can be read. */
export interface CheckedRow {
  /** 0-based row of the file. */
  at: number;
  row: Row;
  prompt: Prompt;
  dataSource: string;
}

/** The rows whose columns are what a run reads, and what is wrong with the others. */
export function readPrompts(
  rows: readonly Row[],
  { file, messagesKey, toolsKey, sourceKey, tools }: ReadPromptsOptions,
): { readable: CheckedRow[]; findings: Finding[] } {
  const missing = [messagesKey, ...(sourceKey === undefined ? [] : [sourceKey])].filter(
    (column) => !rows.some((row) => column in row),
  );
  if (missing.length > 0) {
    const all = rows.map((_, index) => index);
    const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))].join(", ");
    return {
      readable: [],
      findings: missing.flatMap((column) =>
        findingOf(
          "columns",
          "error",
          all,
          `There is no column "${column}"; the columns are ${columns}.`,
          "Convert the file (verl data convert), or name another column (data.prompt_key, data.reward_fn_key, data.messages_key).",
        ),
      ),
    };
  }
  const readable: CheckedRow[] = [];
  const wrong = new Reasons();
  rows.forEach((row, at) => {
    const origin = { file, row: at };
    try {
      const own = row[toolsKey] ?? undefined;
      readable.push({
        at,
        row,
        prompt: {
          messages: asMessages(row[messagesKey], messagesKey, origin),
          tools: own === undefined ? (tools?.(row) ?? []) : readTools(own, toolsKey, origin),
        },
        dataSource: sourceKey === undefined ? "" : asString(row[sourceKey], sourceKey, origin),
      });
    } catch (error) {
      if (!isVerlError(error)) throw error;
      const { column, expected } = error.details ?? {};
      // The same column with another value than it should have, wherever in a list.
      const kind = typeof column === "string" ? `${column.replace(/\d+/g, "")}: ${String(expected)}` : undefined;
      wrong.note(error.message.replace(/, row \d+/, ""), at, { kind, hint: error.hint });
    }
  });
  return { readable, findings: wrong.findings("types") };
}
