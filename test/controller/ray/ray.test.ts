import { execFile, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, expect, it, jest } from "@jest/globals";
import {
  createLogger,
  loadPlugin,
  RayTransport,
  ResourcePool,
  WorkerGroup,
  type GroupOf,
  type NodeResources,
  type Transport,
} from "verl";
import { ChannelServer } from "../../../core/controller/channel/channel-server.ts";
import { PEER_LIMITS } from "../../../core/controller/channel/frame.ts";
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

function open(changes: object = {}, start_timeout_s = 300): RayTransport {
  const { address, python } = cluster;
  const ray = { address, host: null, port: 0, python, tls_cert: null, tls_key: null, ...changes };
  const transport = new RayTransport({ controller: { ray, start_timeout_s } }, log(), new AbortController().signal);
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
  expect(other[0]!.holders.map(({ holds }) => holds)).toEqual(new Array(2).fill({ CPU: 2 }));
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

it("fails a call for a rank that was lost when it had done its part, and those behind it", async () => {
  const probers = await group(open());
  const [first] = (await probers.pid()) as [number, number];
  const calls = [fate(probers.firstOnly()), fate(probers.pid())];
  // Answers come in order: rank 0 has done its part by then.
  await probers.executeRank(0, "pid");
  end(first);
  for (const { error } of await Promise.all(calls)) {
    expect(error).toMatchObject({
      code: "VERL_WORKER_DIED",
      message: expect.stringMatching(
        /^Rank 0 of probers \(.*\) was ended by signal 9; the call was (firstOnly|pid)\.$/,
      ),
    });
  }
  await probers.dispose();
});

it("tells what V8 said of a rank that ran out of memory, and not where in its code that was", async () => {
  const [transport, pool] = [open(), new ResourcePool([1])];
  const env = { NODE_OPTIONS: "--max-old-space-size=64" };
  const { error } = await fate((await WorkerGroup.create(Prober, [], { transport, pool, env, log: log() })).fillHeap());
  expect(error.message).toMatch(/was ended by signal 6; its last lines:[^]*FATAL ERROR: .*heap out of memory/);
  expect(error.message).not.toMatch(/^ *\d+: 0x/m);
});

it("says of a call under way, of a start, and of a later one, that the program closed the transport", async () => {
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
  expect((await fate(group(transport, 1))).error.message).toContain("a transport that this program has closed");
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
  const holders = await group(transport);
  const pool = new ResourcePool([3], { name: "late" });
  const controller = new AbortController();
  const { signal } = controller;
  const starting = fate(WorkerGroup.create(Prober, [], { transport, pool, signal, log: log() }));
  await until(() => lines.some((line) => line.includes("Waiting for resources")), 60, "what is waited for");
  controller.abort(new Error("enough"));
  expect((await starting).error).toBe(signal.reason);
  expect(lines.join("")).toMatch(
    /Wanted by late: 3 ranks [^]*placement group \S*_pool_\S* holds[^]*Waiting for resources/,
  );
  expect(await holders.pid()).toHaveLength(2);
});

it("says what is wanted, what there is and who holds the rest where there is no room", async () => {
  await group(open());
  const transport = open({}, 4);
  const start = (ranks: number, name: string, maxColocateCount = 1) => {
    const pool = new ResourcePool([ranks], { name, maxColocateCount });
    return WorkerGroup.create(Prober, [], { transport, pool, log: log() });
  };
  const late = await fate(start(3, "late"));
  expect(late.error).toMatchObject({ code: "VERL_CONTROLLER_POOL" });
  expect(late.error.message).toMatch(
    /^There is no room for the worker groups after 4 s\.\nWanted by late: 3 ranks on one machine, each rank 1 CPU\.\nAvailable on 127\.0\.0\.1: 2 CPU of 4 CPU; placement group \S+ holds 2 CPU\.$/,
  );
  expect(lines.filter((line) => line.includes("Waiting for resources, at most 4 s."))).toHaveLength(1);
  const never = await fate(start(9, "large"));
  // Without "after 4 s": it is not waited for.
  expect(never.error.message.split("\n")[0]).toBe("There is no room for the worker groups.");
});

it("starts more ranks than a signal has listeners without a warning, and names what they hold in one", async () => {
  const warned: Error[] = [];
  const note = (warning: Error): void => void warned.push(warning);
  process.on("warning", note);
  const transport = open();
  const pool = new ResourcePool([12], { name: "many", perPlace: { CPU: 0.25 }, maxColocateCount: 1 });
  await WorkerGroup.create(Prober, [], { transport, pool, log: log() });
  process.off("warning", note);
  expect(warned.filter(({ name }) => name === "MaxListenersExceededWarning")).toEqual([]);
  expect((await transport.resources())[0]!.holders).toEqual([
    { who: expect.stringMatching(/^this run's placement group verl_\w+_many_0_0$/) as unknown, holds: { CPU: 3 } },
  ]);
});

it("says that the places of a pool were not free in time for another group of it", async () => {
  // As long as the first group may need.
  const transport = open({}, 15);
  const pool = new ResourcePool([2], { name: "narrow", maxColocateCount: 1 });
  await WorkerGroup.create(Prober, [], { transport, pool, log: log() });
  const second = await fate(WorkerGroup.create(Prober, [], { transport, pool, log: log() }));
  expect(second.error.message).toContain("have their places, but did not start in them within 15 s");
});

it("gives the places of a group back that is disposed, was given up, or could not be started", async () => {
  const transport = open();
  const create = (fault?: string, signal?: AbortSignal) =>
    WorkerGroup.create(Prober, fault === undefined ? [] : [fault], {
      transport,
      pool: new ResourcePool([4]),
      log: log(),
      signal,
    });
  for (let round = 0; round < 2; round++) {
    await expect(create("no such layer")).rejects.toThrow("no such layer");
    // Free, or said to be on its way, where Ray needs longer than the start waited.
    const [{ free, holders }] = (await transport.resources()) as [NodeResources];
    const leaving = holders.filter(({ who }) => /^this run's placement group \S+ \(on its way out\)$/.test(who));
    expect(leaving.reduce((sum, { holds }) => sum + holds["CPU"]!, free["CPU"]!)).toBe(4);
    expect(leaving.length).toBeLessThan(2);
    const first = await create();
    await expect(create(undefined, AbortSignal.timeout(1500))).rejects.toThrow("timeout");
    await first.dispose();
  }
  const pool = new ResourcePool([4], { maxColocateCount: 2 });
  const [left, right] = pool.split(2);
  const groups = [];
  for (const part of [left!, right!]) {
    groups.push(await WorkerGroup.create(Prober, [], { transport, pool: part, log: log() }));
  }
  const free = async (): Promise<number> => (await transport.resources())[0]!.free["CPU"]!;
  await groups[0]!.dispose();
  expect(await free()).toBe(0);
  await groups[1]!.dispose();
  await until(async () => (await free()) === 4, 10, "all places are free");
});

it("waits for no room that a start holds itself, and names who holds what is not free yet", async () => {
  const transport = open();
  const pool = new ResourcePool([4], { name: "own" });
  const accounts = new Set<number>();
  for (let round = 0; round < 3; round++) {
    const own = await WorkerGroup.create(Prober, [], { transport, pool, log: log() });
    await own.dispose();
    // In every second round the next start comes at once.
    for (let free = -1; free !== 4 && round % 2 === 0;) {
      const [node] = await transport.resources();
      free = node!.free["CPU"]!;
      accounts.add(node!.holders.reduce((sum, { holds }) => sum + holds["CPU"]!, free));
    }
  }
  expect(accounts).toEqual(new Set([4]));
  expect(lines.filter((line) => line.includes("Waiting for resources"))).toEqual([]);
});

it("refuses an argument and a result that are too large for a message, and goes on", async () => {
  const probers = await group(open(), 1);
  const bytes = 257 * 2 ** 20;
  const given = await fate(probers.text(1, "x".repeat(bytes)));
  expect(given.error).toMatchObject({
    code: "VERL_WORKER_PAYLOAD",
    message: expect.stringMatching(
      /The arguments of probers\.text .* 2694\d+ bytes of JSON, .* 268435456 bytes/,
    ) as unknown,
  });
  const returned = await fate(probers.text(bytes));
  expect(returned.error).toMatchObject({
    code: "VERL_WORKER_PAYLOAD",
    message: expect.stringMatching(/The result of probers\.text .* 2694\d+ bytes of JSON/) as unknown,
  });
  expect(await probers.text(3)).toEqual(["xxx"]);
});

it("tells why a rank's process gave up the controller", async () => {
  const { host, port } = { host: "127.0.0.1", port: 9 };
  const link = { host, port, id: "0", secret: "s" };
  const lost = await endOf({ link, beat: link, silentS: 60 });
  expect(lost).toEqual([
    1,
    expect.stringMatching(/cannot connect to the controller at 127\.0\.0\.1:9: .*ECONNREFUSED/),
  ]);
  const server = await ChannelServer.listen({ host, port: 0, log: log() });
  const own = { ...server.address, secret: "s" };
  server.expect("0", "s", (channel) => {
    channel.trust();
    jest.replaceProperty(PEER_LIMITS, "head", 2 ** 30);
    void channel.send({ head: { text: "x".repeat(2 ** 28) }, blobs: [] });
    jest.restoreAllMocks();
  });
  server.expect("0/beat", "s", () => undefined);
  const told = await endOf({ link: { ...own, id: "0" }, beat: { ...own, id: "0/beat" }, silentS: 60 });
  server.close();
  expect(told).toEqual([
    1,
    expect.stringMatching(/^The controller sent what cannot be read: its head of 2684\d+ bytes/),
  ]);
});

/** How a rank's process ends that is started with this line, and what it says. */
async function endOf(line: object): Promise<[code: number | null, words: string]> {
  const entry = new URL("../../../dist/ray-rank.js", import.meta.url).pathname;
  const rank = spawn(process.execPath, [entry], { stdio: ["pipe", "ignore", "pipe"] });
  rank.stdin.write(`${JSON.stringify(line)}\n`);
  let words = "";
  rank.stderr.on("data", (part: Buffer) => (words += part.toString()));
  const code = await new Promise<number | null>((resolve) => rank.once("close", resolve));
  return [code, words.trim()];
}

it("runs examples/dispatch as its first lines say", async () => {
  const main = "examples/dispatch/main.ts";
  const [, options] = /npx tsx (.*) examples\/dispatch\/main\.ts ray\n/.exec(readFileSync(main, "utf8"))!;
  const env = {
    ...process.env,
    RAY_ADDRESS: cluster.address,
    PATH: `${dirname(cluster.python)}:${process.env["PATH"]}`,
  };
  const { stdout } = await promisify(execFile)("npx", ["tsx", ...options!.split(" "), main, "ray"], { env });
  expect(stdout.trim().split("\n")).toEqual([
    ...[0, 1].map((rank) => `rank ${rank} of 2 has loaded tiny-llm`),
    ...["one", "two", "three"].map((prompt) => `tiny-llm[0] heard "${prompt}"`),
    ...["four", "five"].map((prompt) => `tiny-llm[1] heard "${prompt}"`),
  ]);
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

it.each([
  ["busy", [2, 1]],
  ["idle", [0, 1]],
])("leaves nothing of a controller that is killed while %s, after seconds", async (state, started) => {
  const program = new URL("support/controller.mjs", import.meta.url).pathname;
  const controller = spawn(process.execPath, [program, cluster.address, cluster.python, state], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await new Promise((resolve) => controller.stdout.once("data", resolve));
  expect([ranks().length, drivers().length]).toEqual(started);
  await new Promise((resolve) => setTimeout(resolve, 500));
  controller.kill("SIGKILL");
  await until(() => ranks().length + actors().length + drivers().length === 0, 10, "all is gone");
});

// The last: there is no cluster afterwards.
it("notices the end of the cluster itself", async () => {
  const probers = await group(open());
  const call = fate(probers.wait(WAIT_MS));
  end(processes().find(({ words }) => /\/raylet --/.test(words))!.pid);
  const { error, seconds } = await call;
  expect([error.code, seconds < 20]).toEqual(["VERL_WORKER_DIED", true]);
});
