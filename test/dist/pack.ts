import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** A package as `npm publish` would send it. */
export interface Packed {
  readonly name: string;
  readonly version: string;
  readonly integrity: string;
  /** Paths in the package. */
  readonly files: readonly string[];
  /** Folder that it was packed from. */
  readonly folder: string;
  readonly tarball: string;
}

interface Printed {
  readonly name: string;
  readonly version: string;
  readonly integrity: string;
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

/** Packs a package's folder into another folder. */
export async function pack(folder: string, into: string): Promise<Packed> {
  const { stdout } = await run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", into], {
    cwd: folder,
  });
  // npm 11 and 12 print a list or a record of packages.
  const [printed] = Object.values(JSON.parse(stdout) as Record<string, Printed>);
  const { name, version, integrity, filename, files } = printed!;
  return { name, version, integrity, files: files.map(({ path }) => path), folder, tarball: join(into, filename) };
}
