import { spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { unzipSync } from "fflate";

interface Job {
  status: string;
  message: string;
  driver_exit_code: number | null;
  logs: string;
  process: ChildProcess;
}

interface Submission {
  submission_id: string;
  entrypoint: string;
  runtime_env: { working_dir: string; env_vars: Record<string, string> };
}

/**
 * Ray's job API as Ray 2.58 was seen to behave, in token mode: it needs packages that `pip install ray` does not bring. What it is
 * given it does run, in the package's folder, against the cluster at `address`.
 */
export class JobApi {
  readonly token = "0123456789abcdef";
  readonly jobs = new Map<string, Job>();
  /** `PUT name`, `POST id`. */
  readonly done: string[] = [];
  private readonly packages = new Map<string, Uint8Array>();
  private readonly folder = mkdtempSync(join(tmpdir(), "verl-jobs-"));
  private readonly server = createServer((request, response) => void this.answer(request, response));

  constructor(private readonly address: string) {}

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.server.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const [status, body] = this.route(request, Buffer.concat(parts));
    response.writeHead(status, { "content-type": typeof body === "string" ? "text/plain" : "application/json" });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  }

  private route({ method = "", url = "", headers }: IncomingMessage, body: Buffer): [number, string | object] {
    if (headers["sec-fetch-mode"] !== undefined && method !== "GET") {
      return [405, `'${method}' method not allowed for browser traffic.`];
    }
    if (headers.authorization === undefined) return [401, "Unauthorized: Missing authentication token"];
    if (headers.authorization !== `Bearer ${this.token}`) return [403, "Forbidden: Invalid authentication token"];
    if (url === "/api/version") return [200, { version: "4", ray_version: "2.58.0" }];
    const name = /^\/api\/packages\/gcs\/(\w+\.zip)$/.exec(url)?.[1];
    if (name !== undefined) {
      if (method === "PUT") {
        this.packages.set(name, Uint8Array.from(body));
        this.done.push(`PUT ${name}`);
      }
      return this.packages.has(name) ? [200, ""] : [404, `Package gcs://${name} does not exist`];
    }
    if (method === "POST" && url === "/api/jobs/") return this.submit(JSON.parse(body.toString()) as Submission);
    const [, id = "", what = ""] = /^\/api\/jobs\/([\w-]+)\/?(logs|stop)?$/.exec(url) ?? [];
    const job = this.jobs.get(id);
    if (!job) return [404, `Job ${id} does not exist`];
    const { logs, process: _, ...details } = job;
    if (what === "logs") return [200, { logs }];
    if (what === "stop") {
      const stopped = job.status === "RUNNING" && job.process.kill("SIGTERM");
      return [200, { stopped }];
    }
    return [200, { type: "SUBMISSION", submission_id: id, ...details }];
  }

  private submit({ submission_id: id, entrypoint, runtime_env, ...others }: Submission): [number, string | object] {
    const unknown = Object.keys(others).find((key) => key !== "metadata");
    if (unknown !== undefined) {
      return [
        400,
        `Traceback (most recent call last):\nTypeError: JobSubmitRequest.__init__() got an unexpected keyword argument '${unknown}'`,
      ];
    }
    if (this.jobs.has(id)) {
      return [
        500,
        `Traceback (most recent call last):\nValueError: Job with submission_id ${id} already exists. Please use a different submission_id.`,
      ];
    }
    this.done.push(`POST ${id}`);
    const cwd = join(this.folder, id);
    const zip = this.packages.get(runtime_env.working_dir.replace("gcs://", ""))!;
    for (const [path, bytes] of Object.entries(unzipSync(zip))) {
      mkdirSync(dirname(join(cwd, path)), { recursive: true });
      writeFileSync(join(cwd, path), bytes);
    }
    const env = { ...process.env, ...runtime_env.env_vars, RAY_ADDRESS: this.address };
    const child = spawn("/bin/sh", ["-c", entrypoint], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
    const job: Job = {
      status: "RUNNING",
      message: "Job is currently running.",
      driver_exit_code: null,
      logs: "",
      process: child,
    };
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (text: Buffer) => (job.logs += text.toString()));
    child.on("close", (code, signal) => {
      job.driver_exit_code = code ?? -9;
      job.status = code === 0 ? "SUCCEEDED" : signal === "SIGTERM" ? "STOPPED" : "FAILED";
      job.message =
        code === 0
          ? "Job finished successfully."
          : `Job entrypoint command failed with exit code ${code}, last available logs (truncated to 20,000 chars):\n${job.logs}`;
    });
    this.jobs.set(id, job);
    return [200, { job_id: id, submission_id: id }];
  }
}
