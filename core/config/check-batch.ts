import type { ErrorLocation } from "../errors/index.ts";
import { divisors, statedMicroBatch } from "./batch-plan.ts";
import type { Problem } from "./problem.ts";
import type { PpoConfig, SftConfig } from "./schema/index.ts";
import { usesCritic } from "./uses-critic.ts";

type Locate = (path: string) => ErrorLocation;

/** Whether the sizes of a training step fit each other, as verl's trainer demands it, with the nearest sizes that do. */
export function checkBatch(config: PpoConfig, locate: Locate): Problem[] {
  const { data, trainer, actor_rollout_ref: policy, critic } = config;
  const ranks = trainer.nnodes * trainer.n_gpus_per_node;
  const problems: Problem[] = [];
  const report = (path: string, message: string, hint?: string) =>
    problems.push({ code: "VERL_CONFIG_BATCH_SIZE", message, hint, location: locate(path) });

  const samples = data.train_batch_size * policy.rollout.n;
  if (samples % ranks !== 0) {
    const step = ranks / gcd(ranks, policy.rollout.n);
    report(
      "data.train_batch_size",
      `A step has ${samples} samples (\`data.train_batch_size\` ${data.train_batch_size} × \`actor_rollout_ref.rollout.n\` ${policy.rollout.n}), which ${ranks} ranks cannot share equally.`,
      `Nearest values of \`data.train_batch_size\`: ${alternatives(nearestMultiples(data.train_batch_size, step))}.`,
    );
  }
  const actorPath = "actor_rollout_ref.actor";
  checkUpdates(policy.actor, actorPath);
  const own = ["ppo_mini_batch_size", "ppo_micro_batch_size", "ppo_micro_batch_size_per_gpu"] as const;
  // A critic that only follows the actor has the actor's problems, told once.
  const follows =
    critic.ppo_mini_batch_size === policy.actor.ppo_mini_batch_size &&
    own.slice(1).every((key) => critic[key] === null);
  if (usesCritic(config) && !follows) checkUpdates(critic, "critic");
  for (const [path, section] of [
    ["actor_rollout_ref.ref", policy.ref],
    ["actor_rollout_ref.rollout", policy.rollout],
  ] as const) {
    if (section.log_prob_micro_batch_size !== null && section.log_prob_micro_batch_size_per_gpu !== null)
      both(path, "log_prob_micro_batch_size");
  }
  return problems;

  function checkUpdates(section: PpoConfig["actor_rollout_ref"]["actor"] | PpoConfig["critic"], path: string): void {
    const mini = section.ppo_mini_batch_size;
    const miniPath = `${path}.ppo_mini_batch_size`;
    if (mini > data.train_batch_size) {
      const fits = alternatives(nearestDivisors(data.train_batch_size, mini));
      report(
        miniPath,
        `\`${miniPath}\` is ${mini} prompts, but a step has only ${data.train_batch_size} (\`data.train_batch_size\`).`,
        `Lower \`${miniPath}\` to ${fits}, or raise \`data.train_batch_size\` to ${mini}.`,
      );
      return;
    }
    if (data.train_batch_size % mini !== 0) {
      report(
        miniPath,
        `\`${miniPath}\` ${mini} does not divide the ${data.train_batch_size} prompts of a step (\`data.train_batch_size\`).`,
        `Nearest values: ${alternatives(nearestDivisors(data.train_batch_size, mini))}.`,
      );
      return;
    }
    const samplesPerUpdate = mini * policy.rollout.n;
    if (samplesPerUpdate % ranks !== 0) {
      const valid = divisors(data.train_batch_size).filter((value) => (value * policy.rollout.n) % ranks === 0);
      report(
        miniPath,
        `An update has ${samplesPerUpdate} samples (\`${miniPath}\` ${mini} × \`actor_rollout_ref.rollout.n\` ${policy.rollout.n}), which ${ranks} ranks cannot share equally.`,
        valid.length > 0
          ? `Nearest values: ${alternatives(near(valid, mini))}.`
          : `Change \`data.train_batch_size\` or the number of ranks first.`,
      );
      return;
    }
    checkMicro(section, path, samplesPerUpdate / ranks);
  }

  function checkMicro(
    section: Parameters<typeof statedMicroBatch>[0] & { use_dynamic_bsz: boolean },
    path: string,
    perRank: number,
  ): void {
    if (section.ppo_micro_batch_size !== null && section.ppo_micro_batch_size_per_gpu !== null) {
      // A critic's per-rank key follows its overall one unless it is set.
      both(path, "ppo_micro_batch_size");
      return;
    }
    const micro = statedMicroBatch(section, ranks);
    if (micro === null || section.use_dynamic_bsz || perRank % micro === 0) return;
    const key = section.ppo_micro_batch_size_per_gpu !== null ? "ppo_micro_batch_size_per_gpu" : "ppo_micro_batch_size";
    const scale = key === "ppo_micro_batch_size" ? ranks : 1;
    const valid = near(divisors(perRank), micro).map((value) => value * scale);
    report(
      `${path}.${key}`,
      `\`${path}.${key}\` ${micro * scale} does not divide the ${perRank * scale} samples of an update${scale === 1 ? " on a rank" : ""}.`,
      `Nearest values: ${alternatives(valid)}.`,
    );
  }

  function both(path: string, key: string): void {
    report(
      `${path}.${key}`,
      `Both \`${path}.${key}\` and \`${path}.${key}_per_gpu\` are set.`,
      `Keep \`${path}.${key}_per_gpu\`.`,
    );
  }
}

/** The same for `verl sft`. */
export function checkSftBatch({ data, trainer }: SftConfig, locate: Locate): Problem[] {
  const ranks = trainer.nnodes * trainer.n_gpus_per_node;
  const { train_batch_size: batch, micro_batch_size_per_gpu: micro } = data;
  const problem = (path: string, message: string, values: readonly number[]): Problem[] => [
    {
      code: "VERL_CONFIG_BATCH_SIZE",
      message,
      hint: `Nearest values: ${alternatives(values)}.`,
      location: locate(path),
    },
  ];
  if (batch % ranks !== 0) {
    const message = `\`data.train_batch_size\` ${batch} cannot be shared equally by ${ranks} ranks.`;
    return problem("data.train_batch_size", message, nearestMultiples(batch, ranks));
  }
  if (micro === null || (batch / ranks) % micro === 0) return [];
  const message = `\`data.micro_batch_size_per_gpu\` ${micro} does not divide the ${batch / ranks} conversations of an update on a rank.`;
  return problem("data.micro_batch_size_per_gpu", message, nearestDivisors(batch / ranks, micro));
}

const nearestDivisors = (of: number, wanted: number): number[] => near(divisors(of), wanted);

/** The next value below and the two above, of an ascending list. */
function near(values: readonly number[], wanted: number): number[] {
  const below = values.filter((value) => value < wanted).slice(-1);
  return [...below, ...values.filter((value) => value > wanted).slice(0, 2)];
}

function nearestMultiples(of: number, step: number): number[] {
  const below = Math.floor(of / step) * step;
  return [below, below + step].filter((value) => value > 0);
}

/** "2, 5 or 10". */
function alternatives(values: readonly number[]): string {
  return values.length < 2 ? values.join("") : `${values.slice(0, -1).join(", ")} or ${values.at(-1)}`;
}

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));
