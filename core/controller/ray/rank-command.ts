import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** How the process of a rank is started: by the build's own entry, above the chunks, or from source, which needs a loader. */
export function rankCommand(): { readonly argv: readonly string[]; readonly env: Readonly<Record<string, string>> } {
  const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
  const built = [at("./ray-rank.js"), at("../ray-rank.js")].find((path) => existsSync(path));
  if (built !== undefined) return { argv: [process.execPath, "--enable-source-maps", built], env: {} };
  const loader = import.meta.resolve("tsx");
  return {
    argv: [process.execPath, "--import", loader, at("./ray-rank.ts")],
    env: { TSX_TSCONFIG_PATH: at("../../../tsconfig.json") },
  };
}
