import { spawn, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { workerEntry } from "../../registry/worker-entry.ts";
import type { UnscoredClass } from "../sample-reward.ts";
import type { FromHost, ToHost } from "./messages.ts";

/** Where a score function of the pool runs. */
export type Isolation = "process" | "thread";

/** Why a host is gone that nobody ended. */
export interface LaneEnd {
  readonly kind: UnscoredClass;
  readonly detail: string;
}

export interface LaneEvents {
  readonly message: (message: FromHost) => void;
  readonly end: (why: LaneEnd) => void;
}

/** A host, and the line to it. It does not keep this process alive. */
export interface Lane {
  post(message: ToHost): void;
  /** Ends the host, whatever it does; `end` is not called then. */
  kill(): Promise<void>;
}

/** Memory of a process beside the heap of its score function. */
const PROCESS_OVERHEAD_MB = 256;

export function openLane(isolation: Isolation, memoryLimitMb: number, events: LaneEvents): Lane {
  return isolation === "thread" ? openThread(memoryLimitMb, events) : openProcess(memoryLimitMb, events);
}

function openThread(memoryLimitMb: number, events: LaneEvents): Lane {
  const worker = new Worker(hostEntry(), {
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: memoryLimitMb },
  });
  worker.unref();
  let killed = false;
  let why: LaneEnd | undefined;
  worker.on("message", events.message);
  worker.on("error", (error: NodeJS.ErrnoException) => {
    why =
      error.code === "ERR_WORKER_OUT_OF_MEMORY"
        ? outOfMemory(memoryLimitMb)
        : { kind: "error", detail: `an error that nobody caught ended the scoring thread: ${error.message}` };
  });
  worker.on("exit", (code) => {
    if (!killed) events.end(why ?? { kind: "error", detail: `the scoring thread ended itself with code ${code}` });
  });
  return {
    post: (message) => worker.postMessage(message),
    async kill() {
      killed = true;
      worker.ref();
      await worker.terminate();
    },
  };
}

function openProcess(memoryLimitMb: number, events: LaneEvents): Lane {
  const entry = hostEntry();
  const run =
    entry.protocol === "file:"
      ? [fileURLToPath(entry)]
      : ["--input-type=module", "--eval", `await import(${JSON.stringify(entry.href)});`];
  const bytes = (memoryLimitMb + PROCESS_OVERHEAD_MB) * 2 ** 20;
  const child = spawn(process.execPath, [`--max-old-space-size=${memoryLimitMb}`, ...run], {
    env: { ...process.env, VERL_SCORE_HOST_BYTES: String(bytes) },
    serialization: "advanced",
    stdio: ["ignore", "inherit", "pipe", "ipc"],
    // A Ctrl-C in the terminal is for the run, which may finish its step first.
    detached: true,
    windowsHide: true,
  });
  child.unref();
  child.channel?.unref();
  forwardErrors(child);
  let killed = false;
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const end = (why: LaneEnd): void => {
    if (killed) return;
    killed = true;
    events.end(why);
  };
  child.on("message", (message) => events.message(message as FromHost));
  child.once("error", (error) => end({ kind: "error", detail: `the scoring process: ${error.message}` }));
  child.once("exit", (code, signal) => {
    // V8 aborts a process whose heap is full; the watchdog, or the system, kills one that holds too much beside it.
    const full = signal === "SIGABRT" || signal === "SIGKILL" || signal === "SIGTRAP" || code === 134;
    end(
      full
        ? outOfMemory(memoryLimitMb)
        : { kind: "error", detail: `the scoring process ended itself with ${signal ?? `code ${code}`}` },
    );
  });
  return {
    post: (message) => void child.send(message, () => undefined),
    async kill() {
      killed = true;
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGKILL");
      child.ref();
      await exited;
    },
  };
}

const outOfMemory = (memoryLimitMb: number): LaneEnd => ({
  kind: "memory",
  detail: `the score function took more than ${memoryLimitMb} MiB`,
});

/** Passes on what functions write to stderr, but not the pages that V8 prints when a heap is full. */
function forwardErrors({ stderr }: ChildProcess): void {
  let crashed = false;
  stderr?.setEncoding("utf8").on("data", (text: string) => {
    const crash = text.indexOf("\n<--- Last few GCs --->");
    if (!crashed) process.stderr.write(crash < 0 ? text : text.slice(0, crash));
    crashed ||= crash >= 0;
  });
  (stderr as { unref?: () => void } | null)?.unref?.();
}

/** The host's entry of the build, or the source behind a loader. */
const hostEntry = (): URL => workerEntry(new URL("./score-host.ts", import.meta.url));
