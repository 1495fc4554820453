import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { batchPlan, divisors } from "../../core/config/batch-plan.ts";
import { loadConfig } from "../../core/config/load.ts";
import { load, problemsOf } from "./support.ts";

/** Sizes of a step: prompts, answers, mini-batch, ranks, micro-batch. */
const sizes = (prompts: number, answers: number, mini: number, ranks: number, micro?: number) => [
  "algorithm.adv_estimator=grpo",
  `data.train_batch_size=${prompts}`,
  `actor_rollout_ref.rollout.n=${answers}`,
  `actor_rollout_ref.actor.ppo_mini_batch_size=${mini}`,
  `trainer.n_gpus_per_node=${ranks}`,
  ...(micro === undefined ? [] : [`actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=${micro}`]),
];

describe("batch arithmetic", () => {
  // Public reports, case 88.
  it("names the nearest mini-batches when one does not divide the step", () => {
    const problems = problemsOf(() => load(sizes(10, 3, 4, 1, 3)));
    expect(problems).toEqual([
      expect.objectContaining({
        code: "VERL_CONFIG_BATCH_SIZE",
        message: expect.stringMatching(
          /`actor_rollout_ref.actor.ppo_mini_batch_size` 4 does not divide the 10 prompts/,
        ),
        hint: "Nearest values: 2, 5 or 10.",
        location: expect.objectContaining({ override: "actor_rollout_ref.actor.ppo_mini_batch_size=4" }),
      }),
    ]);
  });

  it("finds all that does not fit at once, beside problems of other keys", () => {
    const others = ["actor_rollout_ref.actor.optim.lr=abc", "foo=1"];
    const pathsOf = (...overrides: string[]) => problemsOf(() => load(overrides)).map(({ location }) => location.path);
    const [mini, micro] = ["ppo_mini_batch_size", "ppo_micro_batch_size_per_gpu"].map(
      (key) => `actor_rollout_ref.actor.${key}`,
    );
    expect(pathsOf(...sizes(100, 8, 60, 1, 7), ...others)).toEqual(
      expect.arrayContaining(["foo", "actor_rollout_ref.actor.optim.lr", mini, micro]),
    );
    // 50 prompts, which are proposed, have 400 samples.
    expect(pathsOf(...sizes(100, 8, 60, 1, 16))).toEqual([mini]);
    const [, second] = problemsOf(() => load(sizes(10, 3, 4, 2, 2)));
    expect(second!.hint).toBe("Nearest values: 1 or 3.");
  });

  it("does so for verl sft", () => {
    const attempt = (...sizes: string[]) =>
      problemsOf(() => loadConfig({ schema: "sft", overrides: ["trainer.n_gpus_per_node=4", ...sizes], env: {} }));
    const both = attempt("data.train_batch_size=30", "data.micro_batch_size_per_gpu=5", "foo=1");
    expect(both.map(({ hint }) => hint)).toEqual([
      expect.stringContaining("verl config print --sft"),
      "Nearest values: 28 or 32.",
      "Nearest values: 1.",
    ]);
    expect(attempt("data.train_batch_size=30", "data.micro_batch_size_per_gpu=7")).toHaveLength(1);
  });

  describe("a bound in tokens", () => {
    const lengths = ["data.max_prompt_length=600", "data.max_response_length=500"];
    const cut = (...overrides: string[]) => [
      ...sizes(8, 2, 8, 1),
      ...lengths,
      "actor_rollout_ref.actor.use_dynamic_bsz=true",
      ...overrides,
    ];
    const bound = (tokens: number) => `actor_rollout_ref.actor.ppo_max_token_len_per_gpu=${tokens}`;

    it("is at least the longest sample's", () => {
      expect(() => load(cut(bound(1100)))).not.toThrow();
      expect(problemsOf(() => load(cut(bound(1099))))).toEqual([
        {
          code: "VERL_CONFIG_BATCH_SIZE",
          message:
            "`actor_rollout_ref.actor.ppo_max_token_len_per_gpu` is 1099 tokens, but a sample may have 1100 (`actor_rollout_ref.rollout.prompt_length` 600 + `actor_rollout_ref.rollout.response_length` 500), and `actor_rollout_ref.actor.use_dynamic_bsz` is on.",
          hint: "Raise `actor_rollout_ref.actor.ppo_max_token_len_per_gpu` to 1100 or more, or lower the two lengths, which follow those of `data`.",
          location: expect.objectContaining({ override: bound(1099) }),
        },
      ]);
    });

    it("holds wherever it is used, and nowhere else", () => {
      const pathsOf = (...overrides: string[]) =>
        problemsOf(() => load(cut(...overrides))).map(({ location }) => location.path);
      const ref = "actor_rollout_ref.ref.log_prob_max_token_len_per_gpu";
      const [update, forward] = ["ppo", "forward"].map((use) => `critic.${use}_max_token_len_per_gpu`);
      expect(pathsOf("actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu=9")).toEqual([
        "actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu",
      ]);
      expect(pathsOf(`${ref}=9`, "actor_rollout_ref.actor.use_kl_loss=true")).toEqual([ref]);
      expect(() => load(cut(`${ref}=9`, `${update}=9`))).not.toThrow();
      expect(pathsOf(`${update}=9`, "algorithm.adv_estimator=gae")).toEqual([update]);
      expect(pathsOf(`${forward}=9`, "critic.enable=true")).toEqual([forward]);
      expect(() => load([...sizes(8, 2, 8, 1), ...lengths, bound(9)])).not.toThrow();
    });
  });

  it.each(["data.train_batch_size=abc", "data.train_batch_sise=100", "data.train_batch_size=[1", "data=3"])(
    "says nothing of sizes that are in doubt: %s",
    (wrong) => {
      const problems = problemsOf(() => load(["actor_rollout_ref.actor.ppo_mini_batch_size=60", wrong]));
      expect(problems.map(({ code }) => code)).not.toContain("VERL_CONFIG_BATCH_SIZE");
    },
  );

  it("derives the numbers of a step", () => {
    const { config } = load(sizes(12, 3, 4, 2, 2));
    expect(batchPlan(config)).toMatchObject({
      ranks: 2,
      prompts: 12,
      samples: 36,
      updates: 3,
      samplesPerUpdate: 12,
      samplesPerRank: 6,
      microBatch: 2,
      microBatchDerived: false,
      accumulation: 3,
    });
  });

  it("names both keys when a mini-batch is larger than the step", () => {
    const [problem] = problemsOf(() => load(sizes(12, 1, 16, 1)));
    expect(problem!.message).toMatch(
      /`actor_rollout_ref.actor.ppo_mini_batch_size` is 16.*12 \(`data.train_batch_size`\)/,
    );
    expect(problem!.hint).toContain("to 12, or raise `data.train_batch_size` to 16");
  });

  it("checks ranks and micro-batches, with values that fit", () => {
    const hintOf = (...overrides: string[]) => problemsOf(() => load(overrides)).map(({ hint }) => hint);
    expect(hintOf(...sizes(10, 1, 10, 4))).toEqual([
      "Nearest values of `data.train_batch_size`: 8 or 12.",
      "Change `data.train_batch_size` or the number of ranks first.",
    ]);
    expect(hintOf(...sizes(12, 1, 3, 2))).toEqual(["Nearest values: 2, 4 or 6."]);
    expect(hintOf(...sizes(12, 3, 4, 2, 4))).toEqual(["Nearest values: 3 or 6."]);
    const overall = "actor_rollout_ref.actor.ppo_micro_batch_size";
    expect(hintOf(...sizes(12, 3, 4, 2), `${overall}=8`)).toEqual(["Nearest values: 6 or 12."]);
    expect(hintOf(...sizes(12, 3, 4, 2, 2), `${overall}=4`)).toEqual([`Keep \`${overall}_per_gpu\`.`]);
    expect(
      hintOf(
        ...sizes(12, 3, 4, 2),
        "actor_rollout_ref.ref.log_prob_micro_batch_size=1",
        "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=1",
      ),
    ).toHaveLength(1);
  });

  it("derives an open micro-batch within the token limit, and leaves it to tokens when asked", () => {
    const long = ["data.max_prompt_length=8", "data.max_response_length=6"];
    const limit = (tokens: number) => `actor_rollout_ref.actor.ppo_max_token_len_per_gpu=${tokens}`;
    const plan = (...overrides: string[]) => batchPlan(load([...sizes(128, 8, 64, 1), ...long, ...overrides]).config);
    expect(plan()).toMatchObject({ microBatch: 512, accumulation: 1, microBatchDerived: true, sampleTokens: 14 });
    expect(plan(limit(14 * 200))).toMatchObject({ microBatch: 128, accumulation: 4 });
    expect(plan(limit(1))).toMatchObject({ microBatch: 1, accumulation: 512 });
    expect(plan("actor_rollout_ref.actor.use_dynamic_bsz=true")).toMatchObject({
      microBatch: null,
      accumulation: null,
    });
  });

  it("checks a critic that has sizes of its own", () => {
    const overrides = ["data.train_batch_size=12", "actor_rollout_ref.actor.ppo_mini_batch_size=4"];
    expect(
      problemsOf(() => load([...overrides, "critic.ppo_mini_batch_size=5"])).map(({ location }) => location.path),
    ).toEqual(["critic.ppo_mini_batch_size"]);
    expect(load([...overrides, "critic.ppo_mini_batch_size=5", "critic.enable=false"]).config.critic.enable).toBe(
      false,
    );
    expect(load([...overrides, "critic.ppo_micro_batch_size=2"]).config.critic.ppo_micro_batch_size).toBe(2);
  });

  it("accepts exactly the sizes that fit, and every value it proposes", () => {
    const size = fc.integer({ min: 1, max: 24 });
    const proposed = (hint: string | undefined) => [...(hint ?? "").matchAll(/\b\d+\b/g)].map(Number);
    fc.assert(
      fc.property(size, size, (prompts, mini) => {
        const attempt = (tried: number) => load(sizes(prompts, 1, tried, 1));
        if (prompts % mini === 0) return void attempt(mini);
        const [problem] = problemsOf(() => attempt(mini));
        if (mini > prompts) return;
        for (const value of proposed(problem!.hint))
          expect(attempt(value).config.actor_rollout_ref.actor.ppo_mini_batch_size).toBe(value);
      }),
      { numRuns: 60 },
    );
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 3000 }), (of) => {
        expect(divisors(of)).toEqual(Array.from({ length: of }, (_, i) => i + 1).filter((factor) => of % factor === 0));
      }),
      { numRuns: 50 },
    );
  });
});
