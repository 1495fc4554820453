import { beforeAll, describe, expect, it, jest } from "@jest/globals";
import * as tf from "@tensorflow/tfjs";
import { NdArray } from "../../core/batch/nd-array.ts";
import { loadPlugins, registries } from "../../core/registry/index.ts";
import { bucketsOf } from "../../core/trainer/rollout/weight-buckets.ts";
import { readSafetensors } from "../../core/tensor/safetensors.ts";
import { trainFully, type FullRun } from "./support/full-run.ts";
import { timeless } from "./support/read-run.ts";
import { runFolder } from "./support/tiny-run.ts";

// Graphs are compiled in the first steps, slowly on a busy machine.
jest.setTimeout(300_000);

/** Bytes on the backend at each call of the loss `test-weighing`. */
const bytes: number[] = [];

beforeAll(async () => {
  await loadPlugins([]);
  const vanilla = registries.policy_loss.resolve("vanilla");
  registries.policy_loss.register("test-weighing", {
    ...vanilla,
    aliases: [],
    compute(...args) {
      bytes.push(tf.memory().numBytes);
      return vanilla.compute(...args);
    },
  });
});

const COMMON = [
  "algorithm.adv_estimator=gae",
  "actor_rollout_ref.actor.use_kl_loss=true",
  // Adam would make a large step of a gradient that is all rounding.
  "actor_rollout_ref.actor.optim.eps=1.0e-4",
  "critic.optim.eps=1.0e-4",
  "critic.optim.lr=0.01",
];
const train = (overrides: readonly string[]): Promise<FullRun> => trainFully(runFolder(), [...COMMON, ...overrides]);

const weightsOf = async ({ result }: FullRun) => (await readSafetensors(`${result.model}/model.safetensors`)).arrays;

describe("roles in one thread", () => {
  let together: FullRun;
  beforeAll(async () => {
    together = await train([]);
  });

  it.each([
    ["a rollout that never sleeps", ["actor_rollout_ref.rollout.free_cache_engine=false"]],
    ["a rollout of its own", ["actor_rollout_ref.hybrid_engine=false", "actor_rollout_ref.rollout.nnodes=1"]],
    ["agent loops of their own", ["actor_rollout_ref.rollout.agent.num_workers=2"]],
    [
      "everything apart",
      [
        "actor_rollout_ref.hybrid_engine=false",
        "actor_rollout_ref.rollout.nnodes=1",
        "actor_rollout_ref.rollout.agent.num_workers=2",
        "controller.resource_pool_spec={critic_pool: [1], ref_pool: [1]}",
        "controller.role_mapping={critic: critic_pool, ref: ref_pool, reward: actor_pool}",
      ],
    ],
  ])("give the same run to the bit with %s", async (_, overrides) => {
    const apart = await train(overrides);
    expect(apart.steps.map(timeless)).toEqual(together.steps.map(timeless));
    expect(await weightsOf(apart)).toEqual(await weightsOf(together));
  });

  it("hold no weights of the sampler while the actor trains, unless told to", async () => {
    const loss = "actor_rollout_ref.actor.policy_loss.loss_mode=test-weighing";
    const bytesWith = async (free: boolean): Promise<number> => {
      bytes.length = 0;
      await train([loss, `actor_rollout_ref.rollout.free_cache_engine=${free}`]);
      expect(bytes).toHaveLength(3);
      return bytes[1]!;
    };
    const kept = await bytesWith(false);
    const model = [...(await weightsOf(together)).values()].reduce((sum, { data }) => sum + data.byteLength, 0);
    expect(kept - (await bytesWith(true))).toBeGreaterThanOrEqual(model);
  });

  it("keep the weights of the sampler where the critic alone is trained", async () => {
    const warmUp = ["trainer.critic_warmup=3", "trainer.total_training_steps=4"];
    const [asleep, awake] = [
      await train(warmUp),
      await train([...warmUp, "actor_rollout_ref.rollout.free_cache_engine=false"]),
    ];
    expect(asleep.steps.map(timeless)).toEqual(awake.steps.map(timeless));
    const updated = asleep.steps.map(({ data }) => "actor/grad_norm" in data);
    expect(updated).toEqual([false, false, true, true]);
  });
});

describe("roles on ranks of their own", () => {
  it("give the same run as in one thread, rounding aside, and are shown before the start", async () => {
    const inline = await train([]);
    const { steps, terminal } = await train([
      "controller.transport=thread",
      "actor_rollout_ref.hybrid_engine=false",
      "actor_rollout_ref.rollout.nnodes=1",
      "actor_rollout_ref.rollout.n_gpus_per_node=2",
      "actor_rollout_ref.rollout.agent.num_workers=2",
      "controller.resource_pool_spec={critic_pool: [1]}",
      "controller.role_mapping.critic=critic_pool",
    ]);
    expect(terminal).toContain(
      "Roles: actor, ref in actor_pool; rollout in rollout_pool; critic in critic_pool; agent_loop in agent_loop_pool; reward in reward_pool.",
    );
    expect(terminal).toContain("Wanted by rollout_pool: 2 ranks on one machine");
    expect(steps).toHaveLength(3);
    steps.forEach((step, index) => {
      const expected = timeless(inline.steps[index]!);
      for (const [metric, value] of Object.entries(timeless(step))) {
        expect([index, metric, value]).toEqual([index, metric, expect.closeTo(expected[metric]!, 4)]);
      }
    });
  });
});

describe("weights on their way to other ranks", () => {
  const weight = (length: number) => NdArray.zeros("float32", [length]);

  it("go in parts that stay within the limit, a larger one alone", () => {
    const weights = new Map([3, 3, 9, 1, 1, 1, 2].map((length, index) => [`w${index}`, weight(length)]));
    const parts = bucketsOf(weights, 24);
    expect(parts.map((part) => [[...part.weights.keys()].join(" "), part.last])).toEqual([
      ["w0 w1", false],
      ["w2", false],
      ["w3 w4 w5 w6", true],
    ]);
    expect(new Map(parts.flatMap((part) => [...part.weights]))).toEqual(weights);
    expect(bucketsOf(new Map(), 24)).toEqual([{ weights: new Map(), last: true }]);
  });
});
