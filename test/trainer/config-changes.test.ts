import { describe, expect, it } from "@jest/globals";
import { configChanges } from "../../core/trainer/config-changes.ts";

describe("configChanges", () => {
  const changes = (before: object, now: object) => configChanges(before, now);

  it("names what changes the training, with both values", () => {
    expect(
      changes({ data: { train_files: ["a"] }, optim: { lr: 1 } }, { data: { train_files: ["b"] }, optim: { lr: 1 } }),
    ).toEqual(['data.train_files (["a"] → ["b"])']);
    expect(changes({ trainer: { seed: 1 } }, { trainer: {} })).toContain("trainer.seed (1 → not set)");
  });

  it.each([
    { trainer: { save_freq: 1, default_local_dir: "a", logger: ["console"] } },
    { data: { val_files: ["x"], val_batch_size: 2 }, rollout: { val_kwargs: { n: 3 } } },
    { actor: { ppo_micro_batch_size_per_gpu: 2, ppo_max_token_len_per_gpu: 8, log_prob_use_dynamic_bsz: true } },
    { actor: { checkpoint: { save_contents: ["model"] } } },
    { hybrid_engine: false, rollout: { nnodes: 1, free_cache_engine: false, agent: { num_workers: 2 } } },
  ])("leaves out what does not: %j", (now) => {
    expect(changes({ other: 1 }, { ...now, other: 1 })).toEqual([]);
  });

  it("counts the length of the run where the learning rate follows it", () => {
    const run = (lr_scheduler_type: string, ratio: number, total_training_steps: number) => ({
      optim: { lr_scheduler_type, lr_warmup_steps_ratio: ratio },
      trainer: { total_training_steps },
    });
    expect(changes(run("constant", 0, 1), run("constant", 0, 2))).toEqual([]);
    expect(changes(run("cosine", 0, 1), run("cosine", 0, 2))).toEqual(["trainer.total_training_steps (1 → 2)"]);
    expect(changes(run("constant", 0.1, 1), run("constant", 0.1, 2))).toHaveLength(1);
  });

  it("counts those beyond a few", () => {
    const many = (value: number) => Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`k${at}`, value]));
    expect(changes(many(1), many(2)).slice(-2)).toEqual(["k7 (1 → 2)", "4 more"]);
  });
});
