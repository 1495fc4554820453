import { getEnvironmentData, setEnvironmentData } from "node:worker_threads";

const RESERVED = "verl.stdout.reserved";

/**
 * Keeps this process's stdout for machine-readable output: what anything else prints there from now on goes to stderr, in this thread, in
 * its worker threads, whose output passes through here, and in processes that are given {@link stdoutFd}.
 */
export function reserveStdout(): void {
  setEnvironmentData(RESERVED, true);
  process.stdout.write = process.stderr.write.bind(process.stderr);
}

/** Where a process writes what the user's code prints: this one's stdout, or stderr where that is reserved, here or in a thread of this process. */
export const stdoutFd = (): 1 | 2 => (getEnvironmentData(RESERVED) === true ? 2 : 1);
