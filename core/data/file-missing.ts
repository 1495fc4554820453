import { VerlError } from "../errors/verl-error.ts";

/** The error of a data file that is not there, or that the system does not let us open. @param name the path as it was given. */
export function fileMissing(name: string, file: string, cause: unknown): VerlError {
  const { code, message } = cause as NodeJS.ErrnoException;
  const what = code === "ENOENT" ? "does not exist" : `cannot be opened: ${message}`;
  return new VerlError("VERL_DATA_FILE_MISSING", `The file "${name}" ${what}.`, {
    location: { file },
    cause,
    hint: "Check the path; relative paths start at the working directory.",
  });
}
