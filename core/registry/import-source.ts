import * as nodeModule from "node:module";
import { assetPath } from "./asset-path.ts";

const TYPESCRIPT = /\.[cm]?tsx?$/;

/** Imports a JavaScript or TypeScript file; TypeScript needs no build step, and `import "verl"` in it finds this very instance. */
export async function importSource(url: string): Promise<Readonly<Record<string, unknown>>> {
  if (TYPESCRIPT.test(new URL(url, "file:").pathname)) await understandTypeScript();
  return (await import(url)) as Record<string, unknown>;
}

let understood: Promise<void> | undefined;

/** Teaches this process to import TypeScript, once, when it first meets a file of it. */
function understandTypeScript(): Promise<void> {
  return (understood ??= (async () => {
    if (import.meta.url.endsWith(".ts")) return; // These are the sources: what runs them, Jest or tsx, understands TypeScript.
    const { register } = await import("tsx/esm/api");
    // Our own settings rather than the nearest tsconfig: decorators work everywhere, and path mappings never make a second copy of a package.
    register({ tsconfig: assetPath("tsconfig.plugin.json") });
    const { registerHooks } = nodeModule as { registerHooks?: (hooks: { resolve: typeof resolveAsModule }) => void };
    if (registerHooks) registerHooks({ resolve: resolveAsModule });
    else
      nodeModule.register(
        `data:text/javascript,${encodeURIComponent(`export const resolve = ${resolveAsModule.toString()}`)}`,
      );
  })());
}

interface Resolution {
  url: string;
  format?: string | null;
}

/**
 * Module hook: a `.ts` file is an ES module even where no package.json says so. It runs in the hooks' thread, so it uses nothing
 * from outside itself.
 */
function resolveAsModule(
  specifier: string,
  context: unknown,
  next: (specifier: string, context: unknown) => Resolution | Promise<Resolution>,
): Resolution | Promise<Resolution> {
  const asModule = (found: Resolution): Resolution =>
    found.format === "commonjs" && /\.tsx?(\?|$)/.test(found.url) ? { ...found, format: "module" } : found;
  const found = next(specifier, context);
  return found instanceof Promise ? found.then(asModule) : asModule(found);
}
