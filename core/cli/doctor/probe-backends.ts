import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { VerlError } from "../../errors/index.ts";
import { loadedPlugins, registries } from "../../registry/index.ts";
import { workerEntry } from "../../registry/worker-entry.ts";

/** What the probing process is asked. */
export interface ProbeRequest {
  /** Packages and `file:` URLs, as this process has loaded them. */
  readonly plugins: readonly string[];
  readonly keys: readonly string[];
  /** Also compute on this backend of a config, or on the best one. */
  readonly arithmetic?: { readonly backend: string | null };
}

/** What it tells, one thing a message. */
export interface ProbeReply {
  readonly begun?: string;
  readonly key?: string;
  readonly reason?: string;
  readonly arithmetic?: { readonly key: string; readonly value: number } | { readonly failed: string };
  readonly broken?: string;
}

export interface BackendProbe {
  /** Why a backend cannot run here; undefined where it can. */
  readonly reasons: ReadonlyMap<string, string | undefined>;
  /** Absent where it was not asked for. */
  readonly arithmetic?: ProbeReply["arithmetic"];
}

/**
 * Looks which tensor backends can run here. It is done in a process of its own: drivers write to stderr, which is nothing to read,
 * and one that ends its process is told of.
 * @param keys Default: all that are registered.
 */
export async function probeBackends(
  keys: readonly string[] = registries.tensor_backend.keys(),
  arithmetic?: ProbeRequest["arithmetic"],
): Promise<BackendProbe> {
  const plugins = loadedPlugins().flatMap(({ url }) => (url === undefined ? [] : [url]));
  const reasons = new Map<string, string | undefined>();
  for (;;) {
    const left = keys.filter((key) => !reasons.has(key));
    const { replies, end } = await ask({ plugins, keys: left, arithmetic });
    const last = replies.at(-1);
    for (const { key, reason } of replies) if (key !== undefined) reasons.set(key, reason);
    if (last?.begun !== undefined) {
      // The others are tried without it.
      reasons.set(last.begun, `trying it ended the process (${end}).`);
    } else if (last?.broken !== undefined || keys.some((key) => !reasons.has(key))) {
      throw new VerlError("VERL_INTERNAL", `The backends could not be tried: ${last?.broken ?? end}.`);
    } else if (arithmetic === undefined) return { reasons };
    else return { reasons, arithmetic: last?.arithmetic ?? { failed: `Computing ended the process (${end}).` } };
  }
}

/** @returns what the process told, and how it ended. */
async function ask(request: ProbeRequest): Promise<{ replies: ProbeReply[]; end: string }> {
  const entry = workerEntry(new URL("./probe-host.ts", import.meta.url));
  const run =
    entry.protocol === "file:"
      ? [fileURLToPath(entry)]
      : ["--input-type=module", "--eval", `await import(${JSON.stringify(entry.href)});`];
  const child = spawn(process.execPath, run, { stdio: ["ignore", "ignore", "ignore", "ipc"], windowsHide: true });
  const replies: ProbeReply[] = [];
  child.on("message", (message) => replies.push(message as ProbeReply));
  child.send(request);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) => resolve({ replies, end: signal ?? `exit code ${code}` }));
  });
}
