import { request as requestHttp, type IncomingMessage } from "node:http";
import { request as requestHttps } from "node:https";
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { VerlError } from "../../errors/index.ts";

/** What a job is, as Ray's job API tells it; the fields that are read here. */
export interface JobDetails {
  readonly status: "PENDING" | "RUNNING" | "STOPPED" | "SUCCEEDED" | "FAILED";
  readonly message: string | null;
  readonly driver_exit_code: number | null;
}

/** How long the API may be silent; it works on what it is sent. */
const TIMEOUT_MS = 30_000;
const READ_TIMEOUT_MS = 10_000;
/** The log is sent whole each time that it is asked for. */
const MAX_ANSWER_BYTES = 64 << 20;

/**
 * Ray's job API. By `node:http`: Ray takes `fetch`, which sends a browser's headers, for a browser and refuses it, and its log socket
 * gives no lines to a client that compresses, as Node's does.
 */
export class JobsClient {
  private readonly token = authToken();

  constructor(private readonly url: URL) {}

  /** False where everybody who reaches the API may run programs, and read what jobs are given. */
  get authenticated(): boolean {
    return this.token !== undefined;
  }

  /** Waits for an answer, whatever it is that will be asked for. */
  async reach(): Promise<void> {
    await this.ask("GET", "/api/version");
  }

  async hasPackage(name: string): Promise<boolean> {
    return (await this.ask("GET", `/api/packages/gcs/${name}`, undefined, [404])).status !== 404;
  }

  async putPackage(name: string, zip: Uint8Array): Promise<void> {
    await this.ask("PUT", `/api/packages/gcs/${name}`, zip);
  }

  async submit(job: object): Promise<void> {
    await this.ask("POST", "/api/jobs/", JSON.stringify(job));
  }

  async details(id: string): Promise<JobDetails> {
    return JSON.parse((await this.ask("GET", `/api/jobs/${id}`)).text) as JobDetails;
  }

  async logs(id: string): Promise<string> {
    return (JSON.parse((await this.ask("GET", `/api/jobs/${id}/logs`)).text) as { logs: string }).logs;
  }

  async stop(id: string): Promise<void> {
    await this.ask("POST", `/api/jobs/${id}/stop`, "", [404]);
  }

  /** @throws VERL_RAY_CLUSTER with the last line of what the API says */
  private async ask(
    method: string,
    path: string,
    body?: string | Uint8Array,
    expected: readonly number[] = [],
  ): Promise<{ status: number; text: string }> {
    const url = new URL(path, this.url);
    const answer = await this.send(method, url, body).catch((cause: Error) => {
      throw new VerlError(
        "VERL_RAY_CLUSTER",
        `Ray's job API at ${this.url.href} cannot be reached: ${cause.message}.`,
        {
          hint: "Check controller.ray.address; the API needs `ray[default]` on the cluster's head.",
          cause,
        },
      );
    });
    if (answer.status < 300 || expected.includes(answer.status)) return answer;
    // Errors are Python tracebacks.
    const last = answer.text.trim().split("\n").at(-1) ?? "";
    throw new VerlError("VERL_RAY_CLUSTER", `Ray's job API answered ${answer.status} to ${method} ${path}: ${last}`, {
      hint:
        answer.status === 401 || answer.status === 403
          ? "Set RAY_AUTH_TOKEN, RAY_AUTH_TOKEN_PATH, or write ~/.ray/auth_token."
          : undefined,
    });
  }

  private send(method: string, url: URL, body?: string | Uint8Array): Promise<{ status: number; text: string }> {
    return new Promise((resolve, reject) => {
      const request = url.protocol === "https:" ? requestHttps : requestHttp;
      const headers = {
        ...(this.token !== undefined && { authorization: `Bearer ${this.token}` }),
        ...(body !== undefined && { "content-length": Buffer.byteLength(body) }),
      };
      const timeout = method === "GET" ? READ_TIMEOUT_MS : TIMEOUT_MS;
      const sent = request(url, { method, headers, timeout }, (answer: IncomingMessage) => {
        const parts: Buffer[] = [];
        let bytes = 0;
        answer.on("data", (part: Buffer) => {
          bytes += part.byteLength;
          if (bytes > MAX_ANSWER_BYTES) answer.destroy(new Error("its answer is over the limit"));
          else parts.push(part);
        });
        answer.on("end", () => resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(parts).toString() }));
        answer.on("error", reject);
      });
      sent.on("timeout", () => sent.destroy(new Error(`no answer within ${timeout / 1000} s`)));
      sent.on("error", reject);
      sent.end(body);
    });
  }
}

/** Where Ray's own clients look for it. */
function authToken(): string | undefined {
  const { RAY_AUTH_TOKEN: token, RAY_AUTH_TOKEN_PATH: path } = process.env;
  if (token !== undefined && token !== "") return token;
  try {
    return readFileSync(path ?? join(homedir(), ".ray/auth_token"), "utf8").trim() || undefined;
  } catch {
    return undefined;
  }
}
