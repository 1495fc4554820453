import { existsSync, readFileSync } from "node:fs";
import { beforeAll, describe, expect, it, jest } from "@jest/globals";
import { PpoTrainer } from "../../core/trainer/ppo-trainer.ts";
import { load } from "../config/support.ts";
import { registerBuiltIns } from "../trainer/support/built-ins.ts";
import { ppoConfig, recordingStream, runFolder } from "../trainer/support/tiny-run.ts";

jest.setTimeout(300_000);
beforeAll(registerBuiltIns);

async function tracesOf(...overrides: string[]): Promise<Record<string, unknown>[] | undefined> {
  const folder = runFolder();
  const config = ppoConfig(folder, ["trainer.total_training_steps=2", ...overrides]);
  await (await PpoTrainer.create(config, { stream: recordingStream() })).fit();
  const path = `${folder}/run/traces.jsonl`;
  if (!existsSync(path)) return undefined;
  return readFileSync(path, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe("rollout.trace of a run", () => {
  it("is one prompt a step by default, as lines without texts", async () => {
    const lines = (await tracesOf())!;
    expect(lines.map(({ step }) => step)).toEqual([1, 1, 1, 1, 2, 2, 2, 2]);
    expect(new Set(lines.slice(0, 4).map(({ uid }) => uid)).size).toBe(1);
    expect(lines[0]).toMatchObject({ agent: "single_turn_agent", spans: [{ name: "generate" }] });
    expect(JSON.stringify(lines)).not.toContain('"prompt":');
  });

  it("is what the config asks for", async () => {
    const trace = "actor_rollout_ref.rollout.trace";
    const lines = (await tracesOf(`${trace}.max_samples_per_step_per_worker=null`, `${trace}.token2text=true`))!;
    expect(lines).toHaveLength(16);
    expect(JSON.stringify(lines)).toContain('"prompt":');
    expect(await tracesOf(`${trace}.backend=null`)).toBeUndefined();
  });

  it("takes verl's names", () => {
    const { config } = load(["actor_rollout_ref.rollout.trace.backend=weave"]);
    expect(config.actor_rollout_ref.rollout.trace.backend).toBe("opentelemetry");
  });
});
