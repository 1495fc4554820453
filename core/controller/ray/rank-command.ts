import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { VerlError } from "../../errors/index.ts";

/** How the process of a rank is started: by an entry of the build, above the chunks. */
export function rankCommand(): readonly string[] {
  const entry = fileURLToPath(new URL("../ray-rank.js", import.meta.url));
  if (existsSync(entry)) return [process.execPath, "--enable-source-maps", entry];
  throw new VerlError("VERL_INTERNAL", `The ray transport runs from the built package alone; there is no ${entry}.`, {
    hint: "In a checkout: npm run build:code && npx tsx --tsconfig dist/tsconfig.plugin.json FILE",
  });
}
