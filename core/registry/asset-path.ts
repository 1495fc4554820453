import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** A file that lies beside this one, in the sources and in the build, where code may move to a folder of chunks. */
export function assetPath(name: string): string {
  const candidates = [`./${name}`, `../${name}`].map((path) => fileURLToPath(new URL(path, import.meta.url)));
  return candidates.find(existsSync) ?? candidates[0]!;
}
