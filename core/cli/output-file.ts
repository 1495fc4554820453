import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { isVerlError, VerlError } from "../errors/index.ts";

/** Writes a file that was named on the command line, with its folder. @throws VERL_CLI_FILE when the system does not let it. */
export async function writeOutput(file: string, write: (file: string) => Promise<void>): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true });
    await write(file);
  } catch (cause) {
    if (isVerlError(cause) || typeof (cause as NodeJS.ErrnoException).errno !== "number") throw cause;
    throw new VerlError("VERL_CLI_FILE", `The file ${file} cannot be written: ${(cause as Error).message}.`, {
      location: { file },
      cause,
      hint: "Name another one (--out).",
    });
  }
}
