import { homedir } from "node:os";
import { join } from "node:path";

/** A path as people write it in configs: a leading `~/` is the home folder. */
export function expandPath(path: string): string {
  return path === "~" || path.startsWith("~/") ? join(homedir(), path.slice(1)) : path;
}
