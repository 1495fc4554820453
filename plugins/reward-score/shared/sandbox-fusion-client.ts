/** What came of one program: verl's codes are in the comments. */
export type RunStatus =
  | "success" // true
  | "wrong_answer" // false
  | "api_error" // −1, the service failed, not the program
  | "runtime_error" // −2
  | "timeout" // −3
  | "compile_error"; // −4

export interface RunResult {
  readonly status: RunStatus;
  readonly stdout: string;
  /** Standard error, or why the service gave no result. */
  readonly detail: string;
}

export interface RunRequest {
  readonly code: string;
  readonly stdin: string;
  /** Seconds that compiling may take, and running too. */
  readonly timeout: number;
  readonly memoryLimitMb: number;
}

const ATTEMPTS = 3;
const MOST_BYTES = 16 * 2 ** 20;

interface Stage {
  status?: string;
  return_code?: number | null;
  stdout?: string | null;
  stderr?: string | null;
}

interface Response {
  status?: string;
  message?: string;
  compile_result?: Stage | null;
  run_result?: Stage | null;
}

/** Runs one Python program in a SandboxFusion service; only a 504 is tried again, after 1 and 2 seconds. Aborting rejects. */
export async function runInSandbox(url: string, request: RunRequest, signal?: AbortSignal): Promise<RunResult> {
  const { code, stdin, timeout, memoryLimitMb } = request;
  const body = JSON.stringify({
    compile_timeout: timeout,
    run_timeout: timeout,
    code,
    stdin,
    memory_limit_MB: memoryLimitMb,
    language: "python",
    files: {},
    fetch_files: [],
  });
  for (let attempt = 1; ; attempt++) {
    const patience = AbortSignal.timeout((2 * timeout + 10) * 1000);
    try {
      const response = await fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json", accept: "application/json" },
        body,
        signal: signal === undefined ? patience : AbortSignal.any([signal, patience]),
      });
      if (response.status === 504 && attempt < ATTEMPTS) {
        await response.body?.cancel();
        await pause(attempt * 1000, signal);
        continue;
      }
      const text = await textOf(response);
      if (!response.ok) return failed(`HTTP ${response.status}: ${text.slice(0, 200)}`);
      return outcome(JSON.parse(text) as Response);
    } catch (error) {
      if (signal?.aborted) throw error;
      const { message, cause } = error as Error;
      return failed(cause instanceof Error ? `${message}: ${cause.message}` : message);
    }
  }
}

const failed = (detail: string): RunResult => ({ status: "api_error", stdout: "", detail });

/** The body, up to a size that no honest program prints. */
async function textOf(response: globalThis.Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > MOST_BYTES) throw new Error(`The answer has more than ${MOST_BYTES} bytes.`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function outcome({ status, message, compile_result: compile, run_result: run }: Response): RunResult {
  const detail = run?.stderr || compile?.stderr || message || "";
  const as = (of: RunStatus): RunResult => ({ status: of, stdout: run?.stdout ?? "", detail });
  if (status === "Success")
    return run?.status === "Finished" ? as("success") : failed(`"Success" with a run that is ${run?.status}`);
  if (status !== "Failed") return failed(`${status}: ${detail}`);
  if (isBad(compile)) return as("compile_error");
  if (run?.status === "TimeLimitExceeded") return as("timeout");
  return isBad(run) ? as("runtime_error") : failed(`"Failed" without a reason. ${detail}`);
}

/** A stage that ran out of time, broke, or ended with another code than 0. */
const isBad = (stage: Stage | null | undefined): boolean =>
  stage != null &&
  (stage.status === "Error" ||
    stage.status === "TimeLimitExceeded" ||
    (stage.status === "Finished" && stage.return_code !== 0));

function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal!.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    if (signal?.aborted) abort();
    else signal?.addEventListener("abort", abort, { once: true });
  });
}
