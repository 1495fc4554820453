import { execFile } from "node:child_process";
import { realpathSync } from "node:fs";
import { availableParallelism, freemem, totalmem, type, release, arch } from "node:os";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { VERSION } from "../../registry/index.ts";
import { packageFolder, packageJsonOf } from "../../registry/manifest.ts";
import { compareToRange } from "../../registry/version-range.ts";
import type { Check } from "./check.ts";

const NODE = ">=20.19";
/** Packages of which verl and the project must see the same copy. */
const SHARED = ["@tensorflow/tfjs", "tsyringe"];
const PATIENCE_MS = 5_000;

/** Node, the processor, memory, and that there is one copy of what must be one. */
export function checkMachine(cwd: string): Check[] {
  const gigabytes = (bytes: number): string => `${(bytes / 2 ** 30).toFixed(1)} GiB`;
  const fits = compareToRange(process.versions.node, NODE) === "inside";
  const memory = `${gigabytes(freemem())} of ${gigabytes(totalmem())} free`;
  return [
    { name: "verl", state: "ok", detail: VERSION },
    {
      name: "Node.js",
      state: fits ? "ok" : "fail",
      detail: `${process.versions.node}, ${NODE} is asked`,
      ...(!fits && { fix: "Install a newer Node.js, for example by `nvm install 24`." }),
    },
    {
      name: "system",
      state: "ok",
      detail: `${type()} ${release()}, ${arch()}, ${availableParallelism()} cores, ${memory}`,
    },
    ...SHARED.map((name) => checkCopies(name, cwd)),
  ];
}

function checkCopies(name: string, cwd: string): Check {
  const [ours, theirs] = [dirname(fileURLToPath(import.meta.url)), cwd].map((from) => packageFolder(name, from));
  if (ours === undefined)
    return { name, state: "fail", detail: "is not installed", fix: `Run \`npm install ${name}\`.` };
  const version = String((packageJsonOf(ours)?.["version"] as string | undefined) ?? "");
  if (theirs === undefined || realpathSync(theirs) === realpathSync(ours))
    return { name, state: "ok", detail: version };
  return {
    name,
    state: name === "tsyringe" ? "note" : "fail",
    detail: `two copies: ${ours} and ${theirs}`,
    fix: `Run \`npm dedupe\`; plugins name ${name} in \`peerDependencies\`.`,
  };
}

/** GPUs as NVIDIA's own tool tells them; others show in the backend \`webgpu\`. */
export async function checkGpu(): Promise<Check> {
  const query = ["--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"];
  try {
    const { stdout } = await promisify(execFile)("nvidia-smi", query, { timeout: PATIENCE_MS });
    return { name: "GPU", state: "ok", detail: stdout.trim().replaceAll("\n", "; ") };
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === "ENOENT";
    const detail = missing
      ? "none of NVIDIA's: there is no nvidia-smi"
      : "nvidia-smi fails, so its driver does not run";
    return { name: "GPU", state: "note", detail };
  }
}
