import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

export interface Cluster {
  readonly address: string;
  readonly python: string;
  /** Ends every process of the cluster, each by its id. */
  stop(): void;
}

export interface Running {
  readonly pid: number;
  readonly parent: number;
  readonly words: string;
}

/** Starts a cluster of one machine on loopback, in a namespace that has nothing else (scripts/ray/in-namespace.mjs). */
export function startCluster({ cpus = 6, port = 6399 } = {}): Cluster {
  const python = process.env["VERL_RAY_PYTHON"];
  if (!python) throw new Error("Run this by scripts/ray/in-namespace.mjs.");
  // Ray keeps sockets in there, whose paths are short.
  const folder = mkdtempSync(join(tmpdir(), "vr-"));
  startNode(["--head", `--port=${port}`, "--node-ip-address=127.0.0.1", `--num-cpus=${cpus}`], folder);
  return {
    address: `127.0.0.1:${port}`,
    python,
    stop() {
      endAllIn(folder);
      rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
    },
  };
}

/** Starts one machine of a cluster, by `ray start`, perhaps in a namespace of its own. */
export function startNode(args: readonly string[], folder: string, prefix: readonly string[] = []): void {
  const ray = join(dirname(process.env["VERL_RAY_PYTHON"]!), "ray");
  const common = ["--object-store-memory=400000000", `--temp-dir=${folder}`, "--disable-usage-stats"];
  const [command, ...words] = [...prefix, ray, "start", ...args, ...common];
  // Workers of Ray stand back behind all other programs otherwise, and everything here shares few cores.
  const env = { ...process.env, RAY_worker_niceness: "0" };
  // Ray gives a start up after 30 s, which a busy machine may need.
  for (let attempt = 1; ; attempt++) {
    try {
      execFileSync(command!, words, { encoding: "utf8", stdio: "pipe", timeout: 120_000, env });
      return;
    } catch (error) {
      endAllIn(folder);
      const { stderr } = error as { stderr: string };
      if (attempt === 3) throw new Error(`ray start failed: ${stderr}`, { cause: error });
    }
  }
}

/** Ends the processes whose command line names the folder. */
export function endAllIn(folder: string): void {
  for (const { pid, words } of processes()) if (words.includes(folder)) end(pid);
}

/** Processes that run, with their command lines. */
export function processes(): Running[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const words = readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ").trim();
        const [state, parent] = readFileSync(`/proc/${name}/stat`, "utf8")
          .replace(/^.*\) /s, "")
          .split(" ");
        return state === "Z" || words === "" ? [] : [{ pid: Number(name), parent: Number(parent), words }];
      } catch {
        return [];
      }
    });
}

/** Ranks' processes, the Ray actors that hold them, and drivers. */
export const ranks = (): Running[] =>
  processes().filter(({ words }) => /node .*ray-rank\.js/.test(words) && !/setpriv/.test(words));
export const actors = (): Running[] => processes().filter(({ words }) => /^ray::(Shim|Actor)/.test(words));
export const drivers = (): Running[] => processes().filter(({ words }) => /python\S* \S*driver\.py/.test(words));

export function end(pid: number, signal: NodeJS.Signals = "SIGKILL"): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Waits until `done` gives something; what it gave. */
export async function until<T>(done: () => T | Promise<T>, seconds: number, what: string): Promise<NonNullable<T>> {
  const limit = Date.now() + seconds * 1000;
  for (;;) {
    const value = await done();
    if (value) return value;
    if (Date.now() > limit) throw new Error(`Not within ${seconds} s: ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
