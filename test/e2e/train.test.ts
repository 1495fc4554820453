import { afterAll, beforeAll, describe, expect, it, jest } from "@jest/globals";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

// Each run is a process of its own that compiles its graphs anew.
jest.setTimeout(600_000);

const BIN = join(import.meta.dirname, "../../dist/bin.js");
const MODEL = join(import.meta.dirname, "../../examples/sort-letters/model");
const TINY =
  "override_config={hidden_size: 16, intermediate_size: 24, num_hidden_layers: 1, num_attention_heads: 2, num_key_value_heads: 2, head_dim: 8}";

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "verl-e2e-"));
  const problems = ["dcb", "zya", "kmx", "qpo", "bac", "tsu"];
  const sorted = (problem: string) => [...problem].sort().join("");
  const lines = (rows: readonly unknown[]) => rows.map((row) => JSON.stringify(row)).join("\n");
  const user = (content: string) => ({ role: "user", content });
  writeFileSync(
    join(folder, "train.jsonl"),
    lines(
      problems.map((problem) => ({
        data_source: "letters",
        prompt: [user(problem)],
        reward_model: { ground_truth: sorted(problem) },
      })),
    ),
  );
  writeFileSync(
    join(folder, "sft.jsonl"),
    lines(problems.map((problem) => ({ messages: [user(problem), { role: "assistant", content: sorted(problem) }] }))),
  );
  writeFileSync(
    join(folder, "reward.ts"),
    `interface Answer { solution_str: string }
export const compute_score = ({ solution_str }: Answer): number => [...solution_str].filter((x) => x < "m").length / 4;`,
  );
  writeFileSync(
    join(folder, "held.ts"),
    `import { existsSync, readFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
const [record, after] = process.env.HELD?.split(" ") ?? [];
const held = (): boolean =>
  record !== undefined && !existsSync(record + ".go") && existsSync(record) && readFileSync(record, "utf8").includes('"step":' + after + ",");
export async function compute_score({ solution_str }: { solution_str: string }): Promise<number> {
  while (held()) await setTimeout(10);
  return [...solution_str].filter((x) => x < "m").length / 4;
}`,
  );
  writeFileSync(
    join(folder, "grpo.yaml"),
    `data:
  train_files: train.jsonl
  val_files: train.jsonl
  train_batch_size: 2
  max_prompt_length: 8
  max_response_length: 5
actor_rollout_ref:
  model: { path: ${MODEL}, ${TINY.replace("=", ": ")} }
  actor: { ppo_mini_batch_size: 2, optim: { lr: 0.01 } }
  rollout: { n: 4 }
algorithm: { adv_estimator: grpo }
custom_reward_function: { path: reward.ts }
trainer:
  total_training_steps: 4
  save_freq: 1
  test_freq: 2
  default_local_dir: run
`,
  );
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

interface RunOptions {
  /** Signals sent, one each time that stdout shows the next of these texts. */
  interrupt?: readonly string[];
  /** The signal. Default: SIGINT. */
  signal?: NodeJS.Signals;
  /** Stops reading stdout when it shows this. */
  leaveAt?: string;
  /** Run and step: with the reward of `held.ts` no later step is scored, or not before stdout is left. A busy machine may be slow to send a signal. */
  held?: readonly [run: string, step: number];
  /** Blocks of 1,024 bytes that a file may have. */
  fileLimit?: number;
}

/** Runs the built command line in the folder. */
function verl(
  args: readonly string[],
  { interrupt = [], signal = "SIGINT", leaveAt, held, fileLimit }: RunOptions = {},
): Promise<Ended> {
  const command = [process.execPath, BIN, ...args];
  const [file, ...rest] =
    fileLimit === undefined ? command : ["bash", "-c", `ulimit -f ${fileLimit}; exec "$@"`, "bash", ...command];
  const record = held && `${held[0]}/metrics.jsonl`;
  const env = { ...process.env, ...(held && { HELD: `${record} ${held[1]}` }) };
  const child = spawn(file!, rest, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
  const texts = [...interrupt];
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    stdout += chunk;
    while (texts.length > 0 && stdout.includes(texts[0]!)) {
      texts.shift();
      child.kill(signal);
    }
    if (leaveAt === undefined || !stdout.includes(leaveAt)) return;
    child.stdout.destroy();
    if (record !== undefined) writeFileSync(join(folder, `${record}.go`), "");
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk));
  return new Promise((resolve) => child.on("close", (code) => resolve({ code, stdout, stderr })));
}

const stepsLogged = (run: string): number[] =>
  readFileSync(join(folder, run, "metrics.jsonl"), "utf8")
    .trim()
    .split("\n")
    .map((line) => (JSON.parse(line) as { step: number }).step);

const inRun = (run: string) => `trainer.default_local_dir=${run}`;

describe("verl train", () => {
  it("trains from a file with overrides, reports, and answers in JSON when asked", async () => {
    const { code, stdout, stderr } = await verl([
      "train",
      "grpo.yaml",
      "trainer.total_training_steps=2",
      "--json",
      "--seed",
      "3",
    ]);
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining("Done: 2 of 2 steps.") });
    const result = JSON.parse(stdout) as { step: number; metrics: Record<string, number>; report: string };
    expect(result.step).toBe(2);
    expect(result.metrics).toHaveProperty(["critic/score/mean"]);
    expect(result).toHaveProperty(["validation", "val-core/letters/reward/mean@1"]);
    expect(existsSync(join(folder, result.report))).toBe(true);
    const facts = JSON.parse(readFileSync(join(folder, "run/run.json"), "utf8")) as { seed: number; command: string };
    expect(facts).toMatchObject({ seed: 3, command: "verl train grpo.yaml trainer.total_training_steps=2" });
  });

  it("refuses a typo before anything starts, and names what was meant", async () => {
    const { code, stderr } = await verl(["train", "grpo.yaml", "algorithm.adv_estimator=grop", inRun("typo")]);
    expect(code).toBe(2);
    expect(stderr).toContain("grpo");
    expect(stderr).toContain("algorithm.adv_estimator=grop");
    expect(existsSync(join(folder, "typo"))).toBe(false);
  });

  it("finishes and saves the step when interrupted, and goes on from there", async () => {
    const first = await verl(["train", "grpo.yaml", inRun("stopped"), "trainer.total_training_steps=4000"], {
      interrupt: ["step:1"],
    });
    expect(first.code).toBe(130);
    expect(first.stderr).toMatch(/Stopped after step \d+ of 4000\. The last checkpoint is .*stopped\/global_step_\d+;/);
    const done = stepsLogged("stopped").at(-1)!;
    expect(done).toBeLessThan(4000);
    const total = done + 1;
    const again = await verl(["train", "grpo.yaml", inRun("stopped"), `trainer.total_training_steps=${total}`]);
    expect(again.code).toBe(0);
    expect(again.stderr).toContain(`Resuming after step ${done}`);
    expect(stepsLogged("stopped")).toEqual(Array.from({ length: total + 1 }, (_, step) => step));
  });

  // A step is logged before its checkpoint counts: at once may be in between.
  it("ends at once when interrupted twice, and the last checkpoint is whole", async () => {
    const first = await verl(["train", "grpo.yaml", inRun("killed"), "trainer.total_training_steps=4000"], {
      interrupt: ["step:2 ", "step:2 "],
    });
    expect(first.code).toBe(130);
    const done = stepsLogged("killed").at(-1)!;
    const again = await verl(["train", "grpo.yaml", inRun("killed"), `trainer.total_training_steps=${done + 1}`]);
    const resuming = new RegExp(`Resuming after step (${done - 1}|${done}) from`);
    expect(again).toMatchObject({ code: 0, stderr: expect.stringMatching(resuming) });
  });

  it("killed at any moment and resumed, has the record of a run that was not", async () => {
    const reward = "custom_reward_function.path=held.ts";
    const args = (run: string) => ["train", "grpo.yaml", inRun(run), "trainer.total_training_steps=6", reward];
    await verl(args("whole"));
    for (const step of [1, 3, 5]) {
      const held = ["kill-9", Math.min(step + 1, 5)] as const;
      const killed = await verl(args("kill-9"), { interrupt: [`step:${step} `], signal: "SIGKILL", held });
      expect(killed.code).toBe(null);
    }
    expect((await verl(args("kill-9"))).code).toBe(0);
    expect(stepsLogged("kill-9")).toEqual([0, 1, 2, 3, 4, 5, 6]);
    const rollouts = (run: string) => readFileSync(join(folder, run, "rollouts.jsonl"), "utf8");
    expect(rollouts("kill-9")).toBe(rollouts("whole"));
  });

  it("goes on when nobody reads stdout any more", async () => {
    const args = ["train", "grpo.yaml", inRun("head"), "custom_reward_function.path=held.ts"];
    const { code, stdout, stderr } = await verl(args, { leaveAt: "step:0", held: ["head", 0] });
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining("Done: 4 of 4 steps.") });
    expect(stdout).not.toContain("step:4");
    expect(stderr).toContain("goes on without it");
  });

  it.each([
    ["a timer's error", "setTimeout(() => { throw new TypeError('stray') }, 1)", "stray"],
    ["a rejection that nobody caught", "void Promise.reject(new TypeError('stray'))", "stray"],
    ["process.exit", "process.exit(0)", "process.exit(0)"],
  ])("ends in words, not in silence, by %s in a reward", async (name, code, expected) => {
    const run = name.replaceAll(/\W+/g, "-");
    const file = `${run}.mjs`;
    writeFileSync(
      join(folder, file),
      `let scored = 0; export const compute_score = ({ solution_str }) => { if (++scored > 20) { ${code} } return solution_str.length / 4; };`,
    );
    const own = [inRun(run), `custom_reward_function.path=${file}`, "trainer.val_before_train=false"];
    const ended = await verl(["train", "grpo.yaml", ...own]);
    expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining(expected) });
    expect(ended.stderr).toMatch(/The last checkpoint is .*global_step_\d/);
  });

  it("says that the disk refuses, and keeps the previous checkpoint", async () => {
    // The states of this model are larger than the limit, all other files are smaller.
    const wide =
      "actor_rollout_ref.model.override_config={hidden_size: 64, intermediate_size: 64, num_hidden_layers: 1}";
    const args = ["train", "grpo.yaml", inRun("full"), wide, "trainer.logger=[]"];
    expect((await verl([...args, "trainer.total_training_steps=1"])).code).toBe(0);
    const { code, stderr } = await verl([...args, "trainer.total_training_steps=2"], { fileLimit: 100 });
    expect(code).toBe(1);
    expect(stderr).toContain("VERL_CHECKPOINT_WRITE");
    expect(stderr).toContain("global_step_1");
    expect(readdirSync(join(folder, "full")).filter((name) => name.includes("global_step"))).toEqual(["global_step_1"]);
    expect((await verl([...args, "trainer.total_training_steps=2"])).stderr).toContain("Resuming after step 1");
  });

  it("says so when not even the run's directory can be written", async () => {
    const { code, stderr } = await verl(["train", "grpo.yaml", inRun("train.jsonl")]);
    expect(code).toBe(2);
    expect(stderr).toContain("VERL_TRAIN_DIRECTORY");
  });

  it("shows examples in its help", async () => {
    const { code, stdout } = await verl(["train", "--help"]);
    expect(code).toBe(0);
    expect(stdout).toContain("verl train -c run.yaml algorithm.adv_estimator=rloo");
  });
});

describe("verl sft", () => {
  it("leaves a model folder from which verl train starts", async () => {
    const tuned = await verl([
      "sft",
      "data.train_files=sft.jsonl",
      "data.val_files=null",
      "data.train_batch_size=6",
      "data.micro_batch_size_per_gpu=6",
      "data.max_length=12",
      `model.path=${MODEL}`,
      `model.${TINY}`,
      "trainer.total_training_steps=3",
      "trainer.default_local_dir=sft",
    ]);
    expect({ code: tuned.code, stderr: tuned.stderr }).toMatchObject({ code: 0 });
    const trained = await verl([
      "train",
      "-c",
      "grpo.yaml",
      inRun("after-sft"),
      "actor_rollout_ref.model.path=sft/huggingface",
      "trainer.total_training_steps=1",
      "trainer.save_freq=-1",
    ]);
    expect({ code: trained.code, stderr: trained.stderr }).toMatchObject({ code: 0 });
    expect(trained.stderr).not.toContain("random weights");
  });
});
