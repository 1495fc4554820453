import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** In order of preference: the first that is installed is taken. */
const PACKAGES = ["@tensorflow/tfjs-node-gpu", "@tensorflow/tfjs-node"] as const;

export interface InstalledPackage {
  readonly name: string;
  readonly folder: string;
  /** The compiled binding, where the package looks for it. */
  readonly binding: string;
  /** Where the package looks for headers (`include`) and TensorFlow's C library (`lib`). */
  readonly deps: string;
}

/** N-API version that the package builds and looks for. */
export const NAPI_VERSION = 8;

/**
 * The installed package, with or without its library.
 * @param project folder whose packages come first; those beside this file come next.
 */
export function findPackage(project: string): InstalledPackage | undefined {
  for (const from of [join(project, "package.json"), import.meta.url]) {
    const require = createRequire(from);
    for (const name of PACKAGES) {
      const folder = folderOf(require, name);
      if (folder === undefined) continue;
      return {
        name,
        folder,
        binding: join(folder, "lib", `napi-v${NAPI_VERSION}`, "tfjs_binding.node"),
        deps: join(folder, "deps"),
      };
    }
  }
  return undefined;
}

/** By its package.json: loading the package itself fails as long as it has no binding. */
function folderOf(require: NodeJS.Require, name: string): string | undefined {
  try {
    return dirname(require.resolve(`${name}/package.json`));
  } catch {
    return undefined;
  }
}

/** What stands in the way of loading the package; undefined: nothing that can be seen from outside. */
export function whatIsMissing(project: string): string | undefined {
  const found = findPackage(project);
  if (!found) return `neither ${PACKAGES.join(" nor ")} is installed`;
  if (!existsSync(found.binding)) return `${found.name} has no compiled binding and no TensorFlow library`;
  return undefined;
}
