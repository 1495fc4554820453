import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const root = join(import.meta.dirname, "../..");

const SKIPPED = /(^|\/)(node_modules|dist|runs)\//;

/** Source files under the folders, as paths from the root, with their text. */
export function sources(folders: readonly string[], ends: RegExp = /\.(ts|mjs|js)$/): [path: string, text: string][] {
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .map((file) => join(folder, file))
      .filter((path) => ends.test(path) && !SKIPPED.test(path))
      .map((path): [string, string] => [path, readFileSync(join(root, path), "utf8")]),
  );
}
