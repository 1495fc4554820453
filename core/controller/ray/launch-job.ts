import { createHash } from "node:crypto";
import { VerlError } from "../../errors/index.ts";
import type { Logger } from "../../registry/logger.ts";
import type { Link } from "../channel/dial.ts";
import { JobsClient } from "./jobs-client.ts";
import { packProject } from "./pack-project.ts";
import type { LaunchedDriver } from "./ray-driver.ts";

export interface JobOptions {
  readonly url: URL;
  readonly python: string;
  /** Becomes the job's id. */
  readonly run: string;
  readonly link: Link;
  readonly log: Logger;
}

const POLL_MS = 1000;
/** Times in a row that the API may not answer: its head may be gone, but then so is the driver's connection. */
const MAX_FAULTS = 10;
/** Last characters of the log, for messages. */
const TAIL = 4000;

/** Runs the driver as a job, in a copy of the project. @throws VERL_RAY_CLUSTER when the job is not accepted */
export async function launchJob({ url, python, run, link, log }: JobOptions): Promise<LaunchedDriver> {
  const client = new JobsClient(url);
  if (!client.authenticated && !/^(localhost|127\.|\[::1\])/.test(url.hostname)) {
    log.warn(
      `Ray's job API at ${url.host} asks for no token: whoever reaches it runs programs on the cluster, and reads what connects this run.`,
    );
  }
  // Before the project is packed, which takes long.
  await client.reach();
  const zip = await packProject(process.cwd());
  const name = `_ray_pkg_${createHash("sha1").update(zip).digest("hex")}.zip`;
  if (!(await client.hasPackage(name))) await client.putPackage(name, zip);
  await client.submit({
    submission_id: run,
    entrypoint: `exec ${quoted(python)} .verl-ray-driver.py`,
    runtime_env: { working_dir: `gcs://${name}`, env_vars: { VERL_RAY_LINK: JSON.stringify(link) } },
    metadata: { name: "verl" },
  });
  let watching = true;
  const ended = watch(client, run, () => watching);
  return {
    ended,
    async kill() {
      watching = false;
      await client.stop(run).catch((error: unknown) => {
        log.warn(`The job ${run} could not be stopped: ${error instanceof VerlError ? error.message : String(error)}`);
      });
    },
  };
}

async function watch(client: JobsClient, id: string, goOn: () => boolean): Promise<string> {
  for (let faults = 0; goOn() && faults < MAX_FAULTS;) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS).unref());
    try {
      const { status, message, driver_exit_code: code } = await client.details(id);
      faults = 0;
      if (status === "PENDING" || status === "RUNNING") continue;
      const log = (await client.logs(id).catch(() => "")).trim().slice(-TAIL);
      const words = code === null ? `is ${status}: ${message}` : `exited with code ${code}`;
      return `${words}${log && `:\n${log}`}`;
    } catch {
      faults += 1;
    }
  }
  return "is not told of by the job API any more";
}

/** One word of a POSIX shell. */
const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;
