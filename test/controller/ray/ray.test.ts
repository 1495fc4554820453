import { spawn } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, it, jest } from "@jest/globals";
import { createLogger, loadPlugin, RayTransport, ResourcePool, WorkerGroup, type GroupOf, type Transport } from "verl";
import { JobApi } from "./support/job-api.ts";
import { Prober } from "./support/prober.ts";
import { certificate } from "./support/certificate.ts";
import { actors, drivers, end, processes, ranks, startCluster, until, type Cluster } from "./support/cluster.ts";

// A cluster of Ray, whose processes are many and slow to start.
jest.setTimeout(300_000);

let cluster: Cluster;
const transports: Transport[] = [];
const lines: string[] = [];

beforeAll(async () => {
  cluster = startCluster({ cpus: 4 });
  await loadPlugin("verl/plugins");
});

afterAll(() => cluster.stop());

afterEach(async () => {
  await Promise.all(transports.splice(0).map((transport) => transport.close()));
  // Whatever a test did, nothing of it is left.
  const left = (): string[] => [...ranks(), ...actors(), ...drivers()].map(({ pid, words }) => `${pid} ${words}`);
  await until(() => left().length === 0, 20, "no process of a run is left").catch(() => expect(left()).toEqual([]));
  lines.length = 0;
});

function open(changes: object = {}): RayTransport {
  const { address, python } = cluster;
  const ray = { address, host: null, port: 0, python, tls_cert: null, tls_key: null, ...changes };
  const transport = new RayTransport({ controller: { ray } }, log(), new AbortController().signal);
  transports.push(transport);
  return transport;
}

const log = () => createLogger({ write: (line: string) => void lines.push(line) });

function group(
  transport: Transport,
  worldSize = 2,
  health = { pingS: 0.5, silentS: 1, lostS: 300 },
): Promise<GroupOf<Prober>> {
  const pool = new ResourcePool([worldSize], { maxColocateCount: 2 });
  return WorkerGroup.create(Prober, [], { name: "probers", transport, pool, health, log: log(), env: { MINE: "1" } });
}

it("knows what the cluster has and holds, and starts ranks that call each other", async () => {
  const transport = open();
  expect(await transport.resources()).toMatchObject([
    { node: "127.0.0.1", total: { CPU: 4 }, free: { CPU: 4 }, holders: [] },
  ]);
  const probers = await group(transport);
  expect(probers.workerNames[1]).toMatch(/^127\.0\.0\.1, process \d+$/);
  expect(await probers.variables(["RANK", "WORLD_SIZE", "LOCAL_RANK", "MINE", "VERL_RAY_LINK"])).toEqual([
    ["0", "2", "0", "1", null],
    ["1", "2", "1", "1", null],
  ]);
  expect(await probers.sum(new Float32Array([1, 2]))).toEqual([new Float32Array([2, 4]), new Float32Array([2, 4])]);
  const second = await group(transport);
  expect(await second.pid()).not.toEqual(await probers.pid());
  const other = await open().resources();
  expect(other[0]!.free["CPU"]).toBe(0);
  expect(other[0]!.holders.map(({ holds }) => holds)).toEqual(new Array(4).fill({ CPU: 1 }));
});

/** How a call ends, and after how many seconds. */
async function fate(call: Promise<unknown>): Promise<{ error: Error & { code?: string }; seconds: number }> {
  const start = Date.now();
  const error = await call.then(
    () => new Error("it succeeded"),
    (reason: Error) => reason,
  );
  return { error, seconds: (Date.now() - start) / 1000 };
}

const WAIT_MS = 60_000;

it.each([
  ["its process is killed", () => end(ranks()[0]!.pid), /was ended by signal 9/],
  ["its actor is killed", () => end(actors()[0]!.pid), /was ended by signal 9|was lost with its Ray actor/],
  [
    "the driver is killed",
    () => end(drivers()[0]!.pid),
    /lost the driver in the Ray cluster, which was ended by SIGKILL/,
  ],
  ["its process is frozen", () => end(ranks()[0]!.pid, "SIGSTOP"), /could not be reached for 6 s/],
])("tells within seconds why a rank was lost in a call when %s", async (_, kill, why) => {
  const probers = await group(open(), 1);
  const call = fate(probers.wait(WAIT_MS));
  kill();
  const { error, seconds } = await call;
  expect(error.message).toMatch(why);
  expect([error.code, seconds < 10]).toEqual(["VERL_WORKER_DIED", true]);
  expect((await fate(probers.pid())).error.code).toBe("VERL_WORKER_DIED");
});

it("says of a call under way, and of a start, that the program closed the transport", async () => {
  const transport = open();
  const probers = await group(transport, 1);
  const call = fate(probers.wait(WAIT_MS));
  const starting = fate(WorkerGroup.create(Prober, [], { transport, pool: new ResourcePool([9]), log: log() }));
  await transport.close();
  const { error } = await call;
  expect(error.message).toMatch(
    /^Rank 0 of probers .* ended with its transport, which this program closed; the call was wait\.$/,
  );
  expect((await starting).error.message).toContain(
    "ended with its transport, which this program closed, before it was ready",
  );
  expect(lines.filter((line) => line.includes("ended"))).toEqual([]);
});

it("is told by a rank what ends it that nobody caught, whatever it is", async () => {
  const probers = await group(open());
  await expect(probers.stray()).rejects.toMatchObject({
    code: "VERL_WORKER_DIED",
    message: expect.stringMatching(
      /^Rank 1 of probers \(.*\) was ended by an error that nobody caught: null; the call was stray\.$/,
    ),
    cause: { message: "null" },
  });
  await probers.dispose();
});

it("waits for a rank that holds its event loop, and says so", async () => {
  const probers = await group(open());
  expect(await probers.block(9000)).toEqual([0, 1]);
  // On a busy machine a rank may be slow more than once.
  for (const said of ["has given no sign of life for", "answers again"]) {
    const ranks = lines.flatMap((line) => /Rank (\d) of probers/.exec(line.includes(said) ? line : "")?.[1] ?? []);
    expect([...new Set(ranks)].sort()).toEqual(["0", "1"]);
  }
});

it("passes the error of a constructor on, and ends the ranks that had none", async () => {
  const transport = open();
  const starting = WorkerGroup.create(Prober, ["no such layer"], {
    transport,
    pool: new ResourcePool([2]),
    log: log(),
  });
  await expect(starting).rejects.toThrow("no such layer");
  await until(() => ranks().length === 0, 10, "the ranks have ended");
});

it("gives a start up when it is told to, whatever it waits for", async () => {
  const transport = open();
  const pool = new ResourcePool([9], { name: "large" });
  const signal = AbortSignal.timeout(3000);
  await expect(WorkerGroup.create(Prober, [], { transport, pool, signal, log: log() })).rejects.toThrow("timeout");
});

it("speaks TLS with driver and ranks", async () => {
  const probers = await group(open(certificate()));
  expect(await probers.sum(new Float32Array([3]))).toEqual([new Float32Array([6]), new Float32Array([6])]);
});

it("refuses a port that another controller has", async () => {
  const port = 7391;
  await open({ port }).resources();
  await expect(open({ port }).resources()).rejects.toMatchObject({ code: "VERL_CONTROLLER_LISTEN" });
});

it("says what is wrong with a cluster that is not there, and with a Python that has no Ray", async () => {
  const python = await fate(open({ python: "/usr/bin/false" }).resources());
  expect(python.error).toMatchObject({
    code: "VERL_RAY_CLUSTER",
    message: expect.stringContaining("exited with code 1") as unknown as string,
  });
  await expect(open({ address: "nowhere" }).resources()).rejects.toThrow(
    '"nowhere" is not the address of a Ray cluster.',
  );
});

it("enters a cluster by its job API, with the project beside the driver", async () => {
  const api = new JobApi(cluster.address);
  const address = await api.listen();
  const home = process.cwd();
  const project = mkdtempSync(join(tmpdir(), "verl-project-"));
  writeFileSync(join(project, "reward.ts"), "export {};");
  process.chdir(project);
  try {
    await expect(open({ address }).resources()).rejects.toThrow("401");
    process.env["RAY_AUTH_TOKEN"] = api.token;
    const transport = open({ address });
    const probers = await group(transport);
    expect(await probers.variables(["RAY_AUTH_TOKEN", "VERL_RAY_LINK"])).toEqual([
      [null, null],
      [null, null],
    ]);
    await transport.close();
    await until(() => [...api.jobs.values()].every(({ status }) => status === "SUCCEEDED"), 10, "the job has ended");
    const failing = await fate(open({ address, python: "no-python" }).resources());
    expect(failing.error.message).toMatch(/exited with code 127:\n.*no-python: not found/);
    expect(api.done.map((line) => line.split(" ")[0])).toEqual(["PUT", "POST", "POST"]);
  } finally {
    delete process.env["RAY_AUTH_TOKEN"];
    process.chdir(home);
    api.close();
  }
});

it("leaves nothing of a controller that is killed", async () => {
  const program = new URL("support/controller.mjs", import.meta.url).pathname;
  const controller = spawn(process.execPath, [program, cluster.address, cluster.python], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await new Promise((resolve) => controller.stdout.once("data", resolve));
  expect([ranks().length, drivers().length]).toEqual([2, 1]);
  controller.kill("SIGKILL");
  await until(() => ranks().length + actors().length + drivers().length === 0, 20, "all is gone");
});

// The last: there is no cluster afterwards.
it("notices the end of the cluster itself", async () => {
  const probers = await group(open());
  const call = fate(probers.wait(WAIT_MS));
  end(processes().find(({ words }) => /\/raylet --/.test(words))!.pid);
  const { error, seconds } = await call;
  expect([error.code, seconds < 20]).toEqual(["VERL_WORKER_DIED", true]);
});
