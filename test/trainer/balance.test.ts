import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it, jest } from "@jest/globals";
import fc from "fast-check";
import { workload } from "../../core/batch/balance.ts";
import { rankOrder } from "../../core/trainer/balance.ts";
import { registerAll, trainFully } from "./support/full-run.ts";
import { timeless } from "./support/read-run.ts";
import { runFolder } from "./support/tiny-run.ts";

jest.setTimeout(300_000);
beforeAll(registerAll);

const ascending = (rows: Iterable<number>): number[] => [...rows].sort((a, b) => a - b);
const range = (start: number, end: number): number[] => Array.from({ length: end - start }, (_, at) => start + at);

describe("the order of rows that balances ranks", () => {
  it("gives each mini-batch the rows that it would have had, spread over all ranks", () => {
    const plans = fc
      .record({
        ranks: fc.integer({ min: 1, max: 4 }),
        share: fc.integer({ min: 1, max: 5 }),
        steps: fc.integer({ min: 1, max: 4 }),
      })
      .chain(({ ranks, share, steps }) => {
        const rows = ranks * share * steps;
        return fc.record({
          ranks: fc.constant(ranks),
          share: fc.constant(share),
          steps: fc.constant(steps),
          lengths: fc.array(fc.integer({ min: 1, max: 4096 }), { minLength: rows, maxLength: rows }),
        });
      });
    fc.assert(
      fc.property(plans, ({ ranks, share, steps, lengths }) => {
        const order = rankOrder(lengths, ranks, ranks * share);
        for (let step = 0; step < steps; step++) {
          const rows = range(0, ranks).flatMap((rank) => {
            const start = rank * share * steps + step * share;
            return [...order.subarray(start, start + share)];
          });
          expect(ascending(rows)).toEqual(range(step * ranks * share, (step + 1) * ranks * share));
        }
      }),
    );
  });

  it("gives ranks nearly equal work where their order would not", () => {
    const lengths = [900, 800, 700, 600, 100, 110, 120, 130];
    const work = (rows: Iterable<number>) => [...rows].reduce((sum, row) => sum + workload(lengths[row]!), 0);
    const order = rankOrder(lengths, 2, 8);
    const ratio = work(order.subarray(0, 4)) / work(order.subarray(4));
    expect(Math.abs(Math.log(ratio))).toBeLessThan(0.05);
    expect(Math.abs(Math.log(work(range(0, 4)) / work(range(4, 8))))).toBeGreaterThan(1);
  });

  it("keeps every row where groups were dropped and ranks do not divide the rest", () => {
    for (const rows of [1, 5, 6, 9]) {
      const order = rankOrder(new Array<number>(rows).fill(7), 4, 4);
      expect(ascending(order)).toEqual(range(0, rows));
    }
  });
});

it("gives the same log-probs, metrics and samples when everything is cut by tokens", async () => {
  const common = [
    "actor_rollout_ref.actor.optim.eps=0.1",
    "actor_rollout_ref.actor.use_kl_loss=true",
    "algorithm.use_kl_in_reward=true",
    "trainer.total_training_steps=2",
  ];
  const cut = [
    "actor_rollout_ref.actor.use_dynamic_bsz=true",
    "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=30",
    "actor_rollout_ref.rollout.log_prob_use_dynamic_bsz=true",
    "actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu=30",
    "actor_rollout_ref.ref.log_prob_use_dynamic_bsz=true",
    "actor_rollout_ref.ref.log_prob_max_token_len_per_gpu=17",
  ];
  const [whole, parts] = [await trainFully(runFolder(), common), await trainFully(runFolder(), [...common, ...cut])];
  for (const [step, logged] of parts.steps.entries()) {
    for (const [name, value] of Object.entries(timeless(logged))) {
      expect([name, value]).toEqual([name, expect.closeTo(whole.steps[step]!.data[name]!, 4)]);
    }
  }
  const rows = (directory: string) =>
    readFileSync(`${directory}/rollouts.jsonl`, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { uid: string; response_ids: number[]; old_log_probs: number[] });
  const expected = rows(whole.result.directory);
  for (const [at, { uid, response_ids, old_log_probs }] of rows(parts.result.directory).entries()) {
    expect({ uid, response_ids }).toEqual({ uid: expected[at]!.uid, response_ids: expected[at]!.response_ids });
    old_log_probs.forEach((value, token) => expect(value).toBeCloseTo(expected[at]!.old_log_probs[token]!, 4));
  }
});
