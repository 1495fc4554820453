import { askService, JsonClient, ServiceError, type RetryPause } from "verl";

/** The option with the service's address. */
export const SANDBOX_URL_OPTION = {
  type: "string",
  pattern: "^https?://",
  description: "The service's `run_code` address, such as `http://127.0.0.1:8080/run_code`.",
} as const;

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

const afterGatewayTimeout: RetryPause = (error, attempt) =>
  attempt < ATTEMPTS && error instanceof ServiceError && error.status === 504 ? attempt : undefined;

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
  const body = {
    compile_timeout: timeout,
    run_timeout: timeout,
    code,
    stdin,
    memory_limit_MB: memoryLimitMb,
    language: "python",
    files: {},
    fetch_files: [],
  };
  const client = new JsonClient({ url, timeoutS: 2 * timeout + 10, followRedirects: true });
  try {
    const read = (answer: Response): Response | undefined => (typeof answer.status === "string" ? answer : undefined);
    return outcome(await askService({ client, body, wanted: "`status`", read, signal, pause: afterGatewayTimeout }));
  } catch (error) {
    signal?.throwIfAborted();
    return failed((error as Error).message);
  }
}

const failed = (detail: string): RunResult => ({ status: "api_error", stdout: "", detail });

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
