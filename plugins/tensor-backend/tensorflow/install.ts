import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { VerlError, type BackendInstall } from "verl";
import { bringLibrary } from "./library.ts";
import { findPackage, NAPI_VERSION, type InstalledPackage } from "./package.ts";
import { run } from "./run.ts";

const SOURCES = ["auto", "archive", "python"] as const;

/**
 * Brings the package without its download script, then TensorFlow's C library and headers, builds the binding, and multiplies two
 * matrices with it in a process of its own.
 * @returns what was installed, in a sentence. @throws VERL_BACKEND_REQUEST, VERL_BACKEND_INSTALL
 */
export async function install(request: BackendInstall): Promise<string> {
  const source = request.from ?? "auto";
  if (!(SOURCES as readonly string[]).includes(source) && !existsSync(source)) {
    throw new VerlError("VERL_BACKEND_REQUEST", `TensorFlow's library cannot come from "${source}".`, {
      hint: `It is one of ${SOURCES.join(", ")}, a folder with \`include\` and \`lib\`, or a .tar.gz or .whl file.`,
    });
  }
  const name = request.cuda ? "@tensorflow/tfjs-node-gpu" : "@tensorflow/tfjs-node";
  const scratch = await mkdtemp(join(tmpdir(), "verl-tensorflow-"));
  try {
    const installed = await bringPackage(name, request);
    await bringLibrary(installed, source, scratch, request);
    request.log("Building the binding.");
    await build(installed, request);
    const version = await check(installed, request);
    return `${installed.name} with TensorFlow ${version} works.`;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function bringPackage(name: string, { project, log, signal }: BackendInstall): Promise<InstalledPackage> {
  const there = findPackage(project);
  if (there?.name === name) return there;
  log(`Installing ${name} without its scripts.`);
  const args = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-save", `${name}@^4.22.0`];
  await run("npm", args, { cwd: project, signal });
  const found = findPackage(project);
  if (found?.name === name) return found;
  throw new VerlError("VERL_BACKEND_INSTALL", `npm did not bring ${name} to ${project}.`, {
    hint: "Look at what `npm ls` says there, and whether that folder has a package.json.",
  });
}

async function build({ folder, binding }: InstalledPackage, { signal }: BackendInstall): Promise<void> {
  // The headers that came with Node, where they did: node-gyp would fetch them.
  const prefix = dirname(dirname(process.execPath));
  const headers = existsSync(join(prefix, "include/node/node_api.h")) ? [`--nodedir=${prefix}`] : [];
  const options = [
    "--module_name=tfjs_binding",
    `--module_path=${dirname(binding)}`,
    `--napi_build_version=${NAPI_VERSION}`,
  ];
  await run("npm", ["exec", "--yes", "--", "node-gyp", "rebuild", ...headers, ...options], { cwd: folder, signal });
}

/** In a process of its own: a library that does not fit ends it, not us. @returns TensorFlow's version. */
async function check({ folder }: InstalledPackage, { signal }: BackendInstall): Promise<string> {
  const program = [
    "const tf = require(process.argv[1]);",
    "const [four] = tf.matMul([[1, 1]], [[2], [2]]).dataSync();",
    "if (tf.getBackend() !== 'tensorflow' || four !== 4) throw new Error(`${tf.getBackend()} gives ${four} for 4`);",
    "console.log(tf.backend().binding.TF_Version);",
  ].join("\n");
  return (await run(process.execPath, ["-e", program, folder], { cwd: folder, signal })).trim();
}
