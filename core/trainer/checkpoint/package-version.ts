import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

let version: string | undefined;

/** Version in the package.json above this file, wherever the build put the file. */
export function packageVersion(): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); version === undefined; folder = dirname(folder)) {
    try {
      version = (JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { version: string }).version;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT" || folder === dirname(folder)) throw error;
    }
  }
  return version;
}
