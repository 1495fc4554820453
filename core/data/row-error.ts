import { isVerlError, VerlError } from "../errors/verl-error.ts";
import type { RowOrigin } from "./columns.ts";

/** The error of a row's text, with the row that it belongs to; one that names its row already is left as it is. */
export function withRow(error: Error, { file, row }: RowOrigin): Error {
  if (!isVerlError(error) || error.details?.["row"] !== undefined) return error;
  return new VerlError(error.code, `${error.message} It was row ${row} of the dataset.`, {
    hint: error.hint,
    location: { file },
    cause: error,
    details: { ...error.details, row },
  });
}
