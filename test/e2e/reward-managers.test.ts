import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, jest } from "@jest/globals";
import { serve, type Reply, type Request, type Service } from "../reward/service.ts";

/*
 * Two steps of the quickstart's model with each reward manager that asks somebody else: processes, services, judges. What they say has to
 * arrive in the run's rollouts, part by part.
 */

jest.setTimeout(300_000);

const BIN = join(import.meta.dirname, "../../dist/bin.js");
const MODEL = join(import.meta.dirname, "../../examples/sort-letters/model");

let folder: string;
const services: Service[] = [];

/** Half of them in each of the two steps, four answers to each. */
const PROBLEMS = ["dcb", "zya", "kmx", "qpo"];
/** The problem whose answers send a function into a loop. */
const LOOPS = PROBLEMS[0]!;
/** What every score here is made of; few random answers are alike in it. */
const early = (text: string): number => [...text].filter((letter) => letter < "m").length / 10;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "verl-managers-"));
  const rows = PROBLEMS.map((problem) => ({
    data_source: "letters",
    prompt: [{ role: "user", content: problem }],
    reward_model: { ground_truth: [...problem].sort().join("") },
    extra_info: { problem },
  }));
  write("train.jsonl", rows.map((row) => JSON.stringify(row)).join("\n"));
  write(
    "reward.ts",
    `interface Answer { solution_str: string; extra_info: { problem: string } }
interface Batch { solution_strs: string[] }

const early = ${String(early)};

export const compute_score = ({ solution_str }: Answer) => ({ score: early(solution_str), said: solution_str });
export const whole = ({ solution_strs }: Batch) => solution_strs.map((text) => ({ score: early(text), said: text }));
export const length = ({ solution_str }: Answer) => solution_str.length;
export function looping(answer: Answer) {
  if (answer.extra_info.problem === "${LOOPS}") for (;;);
  return compute_score(answer);
}
export async function judged({ solution_str, judge, signal }: Answer & { judge: string; signal: AbortSignal }) {
  const response = await fetch(judge, { method: "POST", body: JSON.stringify({ solution_str }), signal });
  if (!response.ok) throw Object.assign(new Error("the judge is busy"), { status: response.status });
  return response.json();
}
`,
  );
  write(
    "grpo.yaml",
    `data: { train_files: train.jsonl, val_files: null, train_batch_size: 2, max_prompt_length: 8, max_response_length: 6 }
actor_rollout_ref:
  model: { path: ${MODEL} }
  actor: { ppo_mini_batch_size: 2, optim: { lr: 0.001 } }
  rollout: { n: 4 }
algorithm: { adv_estimator: grpo }
custom_reward_function: { path: reward.ts }
reward_model: { num_workers: 2 }
trainer: { total_training_steps: 2, val_before_train: false }
`,
  );
});

afterAll(async () => {
  await Promise.all(services.map((service) => service.close()));
  rmSync(folder, { recursive: true, force: true });
});

const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);

async function service(reply: (request: Request, call: number) => Reply): Promise<Service> {
  const started = await serve(reply);
  services.push(started);
  return started;
}

interface Rollout {
  input: string;
  output: string;
  score: number | null;
  reward: Record<string, unknown>;
}

/**
 * Trains with a manager, and gives the rollouts of both steps and the metrics of each.
 * @param options overrides, those of the manager without `reward_model.reward_kwargs`.
 */
async function train(manager: string, options: readonly string[]) {
  const run = `run-${manager}-${services.length}`;
  const args = [
    ...["train", "grpo.yaml", `reward_model.reward_manager=${manager}`, `trainer.default_local_dir=${run}`],
    ...options.map((option) => (option.includes("reward_") ? option : `+reward_model.reward_kwargs.${option}`)),
  ];
  const child = spawn(process.execPath, [BIN, ...args], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (chunk: string) => (said += chunk));
  const code = await new Promise((resolve) => child.on("close", resolve));
  if (code !== 0) throw new Error(said);
  const lines = <T>(name: string): T[] =>
    readFileSync(join(folder, run, name), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as T);
  const rollouts = lines<Rollout>("rollouts.jsonl");
  const metrics = lines<{ data: Record<string, number> }>("metrics.jsonl").map(({ data }) => data);
  expect([metrics.length, rollouts.length]).toEqual([2, 16]);
  return { rollouts, metrics, said };
}

const close = (score: number): unknown => expect.closeTo(score, 5);
const scores = (rollouts: readonly Rollout[]): (number | null)[] => rollouts.map(({ score }) => score);

it("batch: one call of the user's function for all answers of a step", async () => {
  const { rollouts, metrics } = await train("batch", ["custom_reward_function.name=whole"]);
  expect(scores(rollouts)).toEqual(rollouts.map(({ output }) => close(early(output))));
  for (const { output, reward } of rollouts) expect(reward).toEqual({ said: output });
  expect(Object.keys(metrics[0]!)).toContain("reward/time_s/whole/max");
});

it("prime: endless loops cost their own answers, and nothing else", async () => {
  const { rollouts, metrics, said } = await train("prime", [
    ...["custom_reward_function.name=looping", "reward_model.timeout_s=3", "reward_model.max_unscored_fraction=0.5"],
  ]);
  expect(scores(rollouts)).toEqual(
    rollouts.map(({ input, output }) => (input === LOOPS ? null : close(early(output)))),
  );
  expect(metrics.map((data) => data["reward/unscored/timeout"] ?? 0).sort()).toEqual([0, 4]);
  expect(said).toContain("4 of 8 answers have no score.");
});

it("multi: a weighted sum of named functions, each one a part", async () => {
  const { rollouts, metrics } = await train("multi", [
    "functions.early={path: reward.ts, weight: 2}",
    "functions.length={path: reward.ts, name: length, weight: -0.1}",
  ]);
  for (const { output, score, reward } of rollouts) {
    expect(reward).toEqual({ early: close(early(output)), "early/said": output, length: output.length });
    expect(score).toEqual(close(2 * early(output) - 0.1 * output.length));
  }
  expect(metrics[0]).toHaveProperty("reward/length/mean");
});

it("rate_limited: a judge that is busy at first", async () => {
  const judge = await service(({ body }, call) =>
    call === 1 ? { status: 503 } : { json: { score: early(String(body["solution_str"])), verdict: "fine" } },
  );
  const { rollouts, metrics } = await train("rate_limited", [
    ...["custom_reward_function.name=judged", `+custom_reward_function.reward_kwargs.judge="${judge.url}"`],
    ...["max_concurrent=3", "backoff_s=0.05"],
  ]);
  expect(scores(rollouts)).toEqual(rollouts.map(({ output }) => close(early(output))));
  for (const { reward } of rollouts) expect(reward).toEqual({ verdict: "fine" });
  expect(judge.most).toBeLessThanOrEqual(3);
  expect(judge.requests).toHaveLength(17);
  expect(metrics[0]).toMatchObject({ "reward/service/retries/count": 1 });
});

it("remote: a scoring service that gets several answers a request", async () => {
  const remote = await service(({ body }) => ({
    json: {
      results: (body["samples"] as { solution_str: string }[]).map(({ solution_str }) => ({
        score: early(solution_str),
        by: "remote",
      })),
    },
  }));
  const { rollouts } = await train("remote", [`url="${remote.url}"`, "batch_size=5"]);
  expect(scores(rollouts)).toEqual(rollouts.map(({ output }) => close(early(output))));
  for (const { reward } of rollouts) expect(reward).toEqual({ by: "remote" });
  expect(remote.requests.map(({ body }) => (body["samples"] as unknown[]).length).sort()).toEqual([3, 3, 5, 5]);
});

it("model: a reward model that reads prompt and answer through its own template", async () => {
  const endpoint = await service(({ body }) => ({ json: { data: [{ probs: [0, early(String(body["input"]))] }] } }));
  const { rollouts } = await train("model", [`url="${endpoint.url}"`, "model=judge-1", `tokenizer=${MODEL}`]);
  const inputs = endpoint.requests.map(({ url, body }) => {
    expect([url, body["model"], body["activation"]]).toEqual(["/classify", "judge-1", false]);
    return String(body["input"]);
  });
  for (const { input, output, score } of rollouts) {
    const seen = inputs.find((text) => text.includes(input) && text.includes(output));
    expect(score).toEqual(close(early(seen!)));
  }
});

it("model: a judge with a rubric behind an OpenAI-compatible endpoint", async () => {
  const endpoint = await service(({ body }) => {
    const [, { content }] = body["messages"] as [unknown, { content: string }];
    const verdict = { reason: "so it is", score: early(content) % 10 };
    return { json: { choices: [{ message: { content: JSON.stringify(verdict) }, finish_reason: "stop" }] } };
  });
  const { rollouts } = await train("model", [
    ...[`url="${endpoint.url}"`, "model=judge-2", "kind=judge", "rubric='Does it start early?'"],
  ]);
  expect(endpoint.requests.map(({ url }) => url)).toEqual(Array(16).fill("/v1/chat/completions"));
  const [system] = endpoint.requests[0]!.body["messages"] as [{ content: string }];
  expect(system.content).toContain("Does it start early?");
  for (const { score, reward } of rollouts) {
    expect(score).toEqual(close((reward["judge_score"] as number) / 10));
    expect(reward).toMatchObject({ judge_reason: "so it is" });
  }
});
