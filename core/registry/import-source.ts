import * as nodeModule from "node:module";
import { assetPath } from "./asset-path.ts";
import { moduleResolver } from "./module-resolver.ts";

const TYPESCRIPT = /\.[cm]?tsx?$/;

/** These are the sources: what runs them, Jest or tsx, understands TypeScript, and knows "verl" by its own rules. */
const isSource = import.meta.url.endsWith(".ts");

/**
 * Imports a JavaScript or TypeScript file; TypeScript needs no build step, and `import "verl"` in it finds this very instance, whether
 * or not the package is installed in the file's folder.
 */
export async function importSource(url: string): Promise<Readonly<Record<string, unknown>>> {
  if (!isSource && url.startsWith("file:")) {
    if (TYPESCRIPT.test(new URL(url).pathname)) await (typeScript ??= understandTypeScript());
    else resolver ??= addResolver();
  }
  return (await import(url)) as Record<string, unknown>;
}

let typeScript: Promise<void> | undefined;
let resolver: true | undefined;

/** Teaches this process to import TypeScript. */
async function understandTypeScript(): Promise<void> {
  const { register } = await import("tsx/esm/api");
  // Our own settings rather than the nearest tsconfig: decorators work everywhere, and path mappings never make a second copy of a package.
  register({ tsconfig: assetPath("tsconfig.plugin.json") });
  // The last one added comes first, and this one must see what tsx makes of a file.
  resolver = addResolver();
}

function addResolver(): true {
  const home = import.meta.url;
  const { registerHooks } = nodeModule as {
    registerHooks?: (hooks: { resolve: ReturnType<typeof moduleResolver> }) => void;
  };
  if (registerHooks) registerHooks({ resolve: moduleResolver(home) });
  else {
    const source = `export const resolve = (${moduleResolver.toString()})(${JSON.stringify(home)});`;
    nodeModule.register(`data:text/javascript,${encodeURIComponent(source)}`);
  }
  return true;
}
