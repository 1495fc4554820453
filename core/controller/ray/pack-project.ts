import { readdir, readFile, stat } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { VerlError } from "../../errors/index.ts";
import { zip, type AsyncZippable } from "fflate";
import { driverPath } from "./launch-direct.ts";

/** Ray takes no larger one. */
const MAX_BYTES = 500 * 2 ** 20;
/** Made anew, or of no use, on another machine. */
const LEFT_OUT = /^(node_modules|runs|coverage|\..*)$/;
/** Same files, same bytes, same name of the package. */
const MTIME = new Date("1980-01-02T00:00:00Z");

/** The project's files and the driver as a zip, without installed packages, outputs of runs, and hidden files. @throws VERL_RAY_CLUSTER */
export async function packProject(folder: string): Promise<Uint8Array> {
  const files: AsyncZippable = { ".verl-ray-driver.py": [await readFile(driverPath()), { mtime: MTIME }] };
  let bytes = 0;
  const walk = async (at: string): Promise<void> => {
    const entries = await readdir(at, { withFileTypes: true });
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = join(at, entry.name);
      if (LEFT_OUT.test(entry.name)) continue;
      if (entry.isDirectory()) await walk(path);
      if (!entry.isFile()) continue;
      bytes += (await stat(path)).size;
      if (bytes > MAX_BYTES) throw tooLarge(folder);
      files[relative(folder, path).split(sep).join("/")] = [await readFile(path), { mtime: MTIME }];
    }
  };
  await walk(folder);
  return new Promise((resolve, reject) => {
    zip(files, { level: 1, mtime: MTIME }, (error, packed) => (error ? reject(error) : resolve(packed)));
  });
}

function tooLarge(folder: string): VerlError {
  return new VerlError(
    "VERL_RAY_CLUSTER",
    `The project in ${folder} has more than ${MAX_BYTES >> 20} MB, which Ray takes no more of.`,
    {
      hint: "Start the run in the folder of the project, and keep data and models elsewhere.",
    },
  );
}
