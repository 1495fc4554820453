import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, jest } from "@jest/globals";
import { end, endAllIn, ranks, startNode, until } from "./support/cluster.ts";

// Two machines made of network namespaces, with a cable between them, and a raylet on each.
jest.setTimeout(480_000);
/** Seconds for a start, which on a busy machine takes many. */
const START_S = 180;

const ROOT = join(import.meta.dirname, "../../..");
const NEAR = "10.77.0.1";
const FAR = "10.77.0.2";
let folder: string;
let far: number;

const ip = (...words: string[]): Buffer => execFileSync("ip", words);
const onFar = (): string[] => ["nsenter", `--net=/proc/${far}/ns/net`];
const cable = (state: "up" | "down"): Buffer => ip("link", "set", "vh", state);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "v2-"));
  execFileSync(process.execPath, [join(ROOT, "examples/sort-letters/make-data.mjs"), "--out", join(folder, "data")]);
  const host = spawn("unshare", ["--net", "sleep", "infinity"], { stdio: "ignore" });
  far = host.pid!;
  await until(() => network(far) !== network(process.pid), 5, "the other machine is there");
  ip("link", "add", "vh", "type", "veth", "peer", "name", "vw");
  ip("link", "set", "vw", "netns", String(far));
  ip("addr", "add", `${NEAR}/24`, "dev", "vh");
  cable("up");
  for (const words of [
    ["addr", "add", `${FAR}/24`, "dev", "vw"],
    ["link", "set", "vw", "up"],
    ["link", "set", "lo", "up"],
  ]) {
    execFileSync(onFar()[0]!, [...onFar().slice(1), "ip", ...words]);
  }
  startNode(["--head", "--port=6398", `--node-ip-address=${NEAR}`, "--num-cpus=2"], join(folder, "h"));
  startNode([`--address=${NEAR}:6398`, `--node-ip-address=${FAR}`, "--num-cpus=1"], join(folder, "w"), onFar());
});

afterAll(() => {
  endAllIn(folder);
  end(far);
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
});

const network = (pid: number): string => readlinkSync(`/proc/${pid}/ns/net`);

/** The quickstart with a rank on each machine, for so many steps. */
function train(steps: number): { output: () => string; ended: Promise<number | null> } {
  const words = [
    "train",
    "examples/sort-letters/grpo.yaml",
    "actor_rollout_ref.model.path=examples/sort-letters/model",
    `data.train_files=${folder}/data/train.parquet`,
    `data.val_files=${folder}/data/validation.parquet`,
    "controller.transport=ray",
    `controller.ray.address=${NEAR}:6398`,
    `controller.ray.python=${process.env["VERL_RAY_PYTHON"]}`,
    "trainer.nnodes=2",
    "trainer.n_gpus_per_node=1",
    `trainer.total_training_steps=${steps}`,
    `trainer.default_local_dir=${join(folder, `run-${steps}`)}`,
    "trainer.val_before_train=false",
    "trainer.save_freq=1",
  ];
  const run = spawn(process.execPath, [join(ROOT, "dist/bin.js"), ...words], { cwd: ROOT });
  let text = "";
  for (const stream of [run.stdout, run.stderr]) stream.on("data", (part: Buffer) => (text += part.toString()));
  return { output: () => text, ended: new Promise((resolve) => run.once("close", resolve)) };
}

it("runs the quickstart across both machines", async () => {
  const run = train(2);
  const places = await until(
    () => {
      const networks = new Set(ranks().map(({ pid }) => network(pid)));
      return networks.size === 2 && networks;
    },
    START_S,
    "a rank on each machine",
  ).catch(() => expect(run.output()).toBe("a rank on each machine"));
  expect(places).toEqual(new Set([network(process.pid), network(far)]));
  expect([await run.ended, run.output()]).toEqual([0, expect.stringContaining("Done: 2 of 2 steps.")]);
});

it("notices a cut cable in less than 10 s and leaves nothing behind, on either machine", async () => {
  const run = train(1000);
  await until(() => run.output().includes("step:1 "), START_S, "a step");
  const cut = Date.now();
  cable("down");
  await until(() => run.output().includes("could not be reached for"), 30, "the cut is noticed");
  const seconds = (Date.now() - cut) / 1000;
  const code = await run.ended;
  cable("up");
  expect([seconds < 10, code]).toEqual([true, 1]);
  expect(run.output()).toMatch(/Rank \d of \w+ \(10\.77\.0\.2, process \d+\) could not be reached for 6 s/);
  const last = Number(readFileSync(join(folder, "run-1000/latest_checkpointed_iteration.txt"), "utf8"));
  expect(last).toBeGreaterThanOrEqual(1);
  await until(() => ranks().length === 0, 75, "no rank is left");
});
