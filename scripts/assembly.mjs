/**
 * Compiles the loops of the losses, plugins/kernel/host/assembly, to WebAssembly, and writes them as a module of TypeScript, so that neither
 * a build nor a bundler has to find a file: node scripts/assembly.mjs [--check]. With --check nothing is written, and the exit code is 1
 * where the file is not what its sources give.
 */
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import asc from "assemblyscript/asc";
import * as prettier from "prettier";

const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));

const target = at("plugins/kernel/host/loss-loops.wasm.ts");
const options = ["-O3", "--runtime", "stub", "--enable", "simd", "--use", "abort=", "--outFile", "loops.wasm"];

let binary;
const { error, stderr } = await asc.main([at("plugins/kernel/host/assembly/losses.ts"), ...options], {
  writeFile: (_name, contents) => void (binary = contents),
});
if (error) throw new Error(stderr.toString(), { cause: error });
const text = await prettier.format(
  `/** The WebAssembly of \`assembly/\`, in base64; \`npm run generate\` writes it. */
  export const LOSS_LOOPS = "${Buffer.from(binary).toString("base64")}";`,
  { ...(await prettier.resolveConfig(target)), filepath: target },
);
if (!process.argv.includes("--check")) await writeFile(target, text);
else if ((await readFile(target, "utf8")) !== text) {
  console.error("plugins/kernel/host/loss-loops.wasm.ts is not what its sources give: npm run generate");
  process.exitCode = 1;
}
