import { VerlError, type ErrorCode } from "verl";
import { truthText } from "./scored.ts";

/** Where a tool or an interaction finds the right answer. */
export interface TruthPlace {
  readonly code: ErrorCode;
  /** Of the row: `interaction_kwargs.ground_truth`. */
  readonly path: string;
  /** How rows have it there. */
  readonly hint: string;
}

/** The right answer that a row gives to a tool or an interaction. @throws VerlError of `code` when it has none */
export function rowTruth(value: unknown, { code, path, hint }: TruthPlace): string {
  try {
    return truthText(value);
  } catch (cause) {
    throw new VerlError(code, `A row's ${path} cannot be compared with: ${(cause as Error).message}.`, { hint, cause });
  }
}
