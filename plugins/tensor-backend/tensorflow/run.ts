import { spawn } from "node:child_process";
import { VerlError } from "verl";

/** The end of a failed program's output is what tells why. */
const TAIL = 2_000;

/** Runs a program to its end, without a shell. @returns the end of its stdout. @throws VERL_BACKEND_INSTALL with the end of its output. */
export function run(
  program: string,
  args: readonly string[],
  { cwd, signal }: { cwd: string; signal: AbortSignal },
): Promise<string> {
  const line = [program, ...args.map((arg) => (arg.includes("\n") ? "…" : arg))].join(" ");
  const failed = (why: string, said: string, cause?: unknown): VerlError =>
    new VerlError("VERL_BACKEND_INSTALL", `\`${line}\` ${why}.`, { hint: said.trim() || undefined, cause });
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, signal, stdio: ["ignore", "pipe", "pipe"] });
    let [said, printed] = ["", ""];
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        said = (said + text).slice(-TAIL);
        if (stream === child.stdout) printed = (printed + text).slice(-TAIL);
      });
    }
    child.on("error", (error: NodeJS.ErrnoException) => {
      if (signal.aborted) reject(failed("was stopped", "", error));
      else reject(failed(error.code === "ENOENT" ? "cannot run: there is no such program" : "cannot run", said, error));
    });
    child.on("close", (code, killedBy) => {
      if (code === 0) resolve(printed);
      else reject(failed(code === null ? `was ended by ${killedBy}` : `ended with exit code ${code}`, said));
    });
  });
}
