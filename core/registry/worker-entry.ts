import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/**
 * What starts a worker thread: `new Worker(workerEntry(new URL("./name.ts", import.meta.url)))`. In the build it is the entry `name.js`
 * above the chunks, in the sources the `.ts` file itself, behind a loader.
 * @param source URL of the file in the sources.
 */
export function workerEntry(source: URL): URL {
  const [, name = ""] = /([^/]+)\.ts$/.exec(source.pathname) ?? [];
  const built = [`./${name}.js`, `../${name}.js`].map((path) => new URL(path, source));
  return built.find((url) => existsSync(fileURLToPath(url))) ?? behindLoader(source);
}

/** A flag of the thread would do in newer versions of Node alone. */
function behindLoader(source: URL): URL {
  const tsx = dirname(createRequire(import.meta.url).resolve("tsx"));
  const api = pathToFileURL(join(tsx, "esm/api/index.mjs")).href;
  const tsconfig = fileURLToPath(new URL("../../tsconfig.json", import.meta.url));
  const code = `import { register } from ${JSON.stringify(api)};
register(${JSON.stringify({ tsconfig })});
await import(${JSON.stringify(source.href)});`;
  return new URL(`data:text/javascript,${encodeURIComponent(code)}`);
}
