import { spawn, type ChildProcess } from "node:child_process";
import type { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { stdoutFd } from "../../registry/reserved-stdout.ts";
import { workerEntry } from "../../registry/worker-entry.ts";
import type { UnscoredClass } from "../sample-reward.ts";
import { FrameReader, toFrame } from "./frames.ts";
import { FROM_HOST_FD, TO_HOST_FD, type FromHost, type ToHost } from "./messages.ts";

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
  /** @throws DataCloneError for what cannot be handed on. */
  post(message: ToHost): void;
  /** Much of what was posted has not left this process. */
  readonly clogged: boolean;
  /** Ends the host, whatever it does; `end` is not called then. */
  kill(): Promise<void>;
}

/** Memory of a process beside the heap of its score function. */
const PROCESS_OVERHEAD_MB = 256;

/** Bytes to a process that wait in this one, from which on it is given no more. */
const CLOGGED_BYTES = 2 ** 22;

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
    clogged: false,
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
    stdio: ["ignore", stdoutFd(), "pipe", "pipe", "pipe"],
    // A Ctrl-C in the terminal is for the run, which may finish its step first.
    detached: true,
    windowsHide: true,
  });
  const [to, from] = [TO_HOST_FD, FROM_HOST_FD].map((fd) => child.stdio[fd] as Socket) as [Socket, Socket];
  for (const handle of [child, to, from]) handle.unref();
  forwardErrors(child);
  let killed = false;
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const end = (why: LaneEnd): void => {
    if (killed) return;
    killed = true;
    events.end(why);
  };
  const reader = new FrameReader((message) => events.message(message as FromHost));
  from.on("data", (chunk: Buffer) => reader.push(chunk));
  to.on("error", () => undefined); // It has ended, which is told below.
  const read = new Promise<void>((resolve) => from.once("close", () => resolve()));
  child.once("error", (error) => end({ kind: "error", detail: `the scoring process: ${error.message}` }));
  child.once("exit", (code, signal) => {
    // V8 aborts a process whose heap is full; the watchdog, or the system, kills one that holds too much beside it.
    const full = signal === "SIGABRT" || signal === "SIGKILL" || signal === "SIGTRAP" || code === 134;
    const died = {
      kind: "error",
      detail: `the scoring process ended itself with ${signal ?? `code ${code}`}`,
    } as const;
    void read.then(() => end(full ? outOfMemory(memoryLimitMb) : died)); // What it answered before comes first.
  });
  // What is posted in a row leaves in one piece.
  const outgoing: Buffer[] = [];
  const send = (): void => void to.write(Buffer.concat(outgoing.splice(0)));
  return {
    post(message) {
      outgoing.push(toFrame(message));
      if (outgoing.length === 1) queueMicrotask(send);
    },
    get clogged() {
      return outgoing.reduce((bytes, frame) => bytes + frame.length, to.writableLength) > CLOGGED_BYTES;
    },
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
