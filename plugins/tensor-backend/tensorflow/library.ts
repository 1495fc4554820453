import { cp, mkdir, readdir, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { VerlError, type BackendInstall } from "verl";
import { download } from "./download.ts";
import type { InstalledPackage } from "./package.ts";
import { run } from "./run.ts";

const VERSION = "2.18.0";
const archiveUrl = (cuda: boolean): string =>
  `https://storage.googleapis.com/tensorflow/versions/${VERSION}/libtensorflow-${cuda ? "gpu" : "cpu"}-linux-x86_64.tar.gz`;

/**
 * Files of the Python package by what they are here: it has no libtensorflow, but one library that exports all of the C and C++ API.
 * Its headers name others of the same folder, so all of TensorFlow's come.
 */
const UNPACK = `
import os, shutil, sys, zipfile
wheel, deps = sys.argv[1:]
root = "tensorflow/"
headers = tuple(root + "include/" + part for part in ("tensorflow/", "tsl/", "xla/tsl/"))
libraries = {root + "libtensorflow_cc.so.2": "libtensorflow.so.2", root + "libtensorflow_framework.so.2": "libtensorflow_framework.so.2"}
found = set()
with zipfile.ZipFile(wheel) as package:
    for entry in package.infolist():
        name = entry.filename
        if entry.is_dir() or ".." in name.split("/"):
            continue
        if name in libraries:
            target = os.path.join(deps, "lib", os.path.basename(name))
            found.add(name)
        elif name.startswith(headers):
            target = os.path.join(deps, name[len(root):])
        else:
            continue
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with package.open(entry) as source, open(target, "wb") as out:
            shutil.copyfileobj(source, out, 1 << 20)
if len(found) < len(libraries):
    sys.exit("The package holds no " + " and no ".join(sorted(set(libraries) - found)))
`;

/** Names under which the linker and the loader look for a library, and the file of the Python package that stands in. */
const LINKS = [
  ["libtensorflow.so.2", "libtensorflow_cc.so.2"],
  ["libtensorflow.so", "libtensorflow.so.2"],
  ["libtensorflow_framework.so", "libtensorflow_framework.so.2"],
] as const;

/**
 * Puts headers and library where the package's build looks for them.
 * @param source `auto`: TensorFlow's archive where it can be reached, else the Python package. `archive`, `python`; or a folder, a .tar.gz or a .whl.
 * @throws VERL_BACKEND_INSTALL
 */
export async function bringLibrary(
  { deps }: InstalledPackage,
  source: string,
  scratch: string,
  request: BackendInstall,
): Promise<void> {
  await rm(deps, { recursive: true, force: true });
  await mkdir(join(deps, "lib"), { recursive: true });
  if (source === "auto") {
    try {
      await fromArchive(deps, scratch, request);
    } catch (error) {
      if (request.signal.aborted) throw error;
      request.log(`TensorFlow's archive cannot be had (${(error as Error).message}); its Python package is taken.`);
      await fromPython(deps, scratch, request);
    }
  } else if (source === "archive") await fromArchive(deps, scratch, request);
  else if (source === "python") await fromPython(deps, scratch, request);
  else if (source.endsWith(".whl")) await unpackWheel(source, deps, request);
  else if (source.endsWith(".tar.gz")) await unpackArchive(source, deps, request);
  else for (const part of ["include", "lib"]) await cp(join(source, part), join(deps, part), { recursive: true });
  await addLinks(join(deps, "lib"));
}

async function fromArchive(deps: string, scratch: string, request: BackendInstall): Promise<void> {
  const url = archiveUrl(request.cuda);
  request.log(`Fetching ${url}`);
  const file = join(scratch, "libtensorflow.tar.gz");
  await download(url, file, request.signal);
  await unpackArchive(file, deps, request);
}

async function fromPython(deps: string, scratch: string, request: BackendInstall): Promise<void> {
  const name = request.cuda ? "tensorflow" : "tensorflow-cpu";
  request.log(`Fetching the Python package ${name} (about 300 MB).`);
  const args = ["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", scratch, name];
  await run("python3", args, { cwd: scratch, signal: request.signal });
  const wheel = (await readdir(scratch)).find((file) => file.endsWith(".whl"));
  if (wheel === undefined) throw new VerlError("VERL_BACKEND_INSTALL", `pip brought no wheel of ${name}.`);
  await unpackWheel(join(scratch, wheel), deps, request);
}

const unpackArchive = (file: string, deps: string, { signal }: BackendInstall): Promise<unknown> =>
  run("tar", ["-xzf", file, "-C", deps, "--no-same-owner"], { cwd: deps, signal });

const unpackWheel = (wheel: string, deps: string, { signal }: BackendInstall): Promise<unknown> =>
  run("python3", ["-c", UNPACK, wheel, deps], { cwd: deps, signal });

async function addLinks(folder: string): Promise<void> {
  const there = new Set(await readdir(folder));
  for (const [name, target] of LINKS) {
    if (there.has(name) || !there.has(target)) continue;
    await symlink(target, join(folder, name));
    there.add(name);
  }
}
