import type { ErrorLocation } from "../errors/index.ts";
import { divisors } from "./batch-plan.ts";
import { numberAt, type Known } from "./known-values.ts";
import type { Problem } from "./problem.ts";
import { knownToUseCritic } from "./uses-critic.ts";

type Locate = (path: string) => ErrorLocation;

/**
 * Whether the sizes of a training step fit each other, as verl's trainer demands it, with the nearest sizes that do. What is not known is
 * NaN, and no check that needs it finds anything.
 */
export function checkBatch(known: Known, locate: Locate): Problem[] {
  const number = (path: string): number => numberAt(known, path);
  const [actor, ref, rollout] = ["actor", "ref", "rollout"].map((part) => `actor_rollout_ref.${part}`) as [
    string,
    string,
    string,
  ];
  const ranks = ranksOf(known);
  const prompts = number("data.train_batch_size");
  const answers = number(`${rollout}.n`);
  const problems: Problem[] = [];
  const report = (path: string, message: string, hint?: string) =>
    problems.push({ code: "VERL_CONFIG_BATCH_SIZE", message, hint, location: locate(path) });

  const samples = prompts * answers;
  if (samples % ranks > 0) {
    const step = ranks / gcd(ranks, answers);
    report(
      "data.train_batch_size",
      `A step has ${samples} samples (\`data.train_batch_size\` ${prompts} × \`${rollout}.n\` ${answers}), which ${ranks} ranks cannot share equally.`,
      `Nearest values of \`data.train_batch_size\`: ${alternatives(nearestMultiples(prompts, step))}.`,
    );
  }
  checkUpdates(actor);
  if (hasOwnCritic()) checkUpdates("critic");
  for (const path of [ref, rollout]) checkBoth(path, "log_prob_micro_batch_size");
  return problems;

  /** A critic that only follows the actor has the actor's problems, told once. */
  function hasOwnCritic(): boolean {
    if (!knownToUseCritic(known)) return false;
    const actorMini = number(`${actor}.ppo_mini_batch_size`);
    const follows = Number.isNaN(actorMini) || number("critic.ppo_mini_batch_size") === actorMini;
    return !follows || MICRO_KEYS.some((key) => known(`critic.${key}`) !== null);
  }

  function checkUpdates(path: string): void {
    const mini = number(`${path}.ppo_mini_batch_size`);
    checkMicro(path, fittingMinis(path, mini));
  }

  /** Reports a mini-batch that does not fit. @returns Mini-batches that the micro-batch may divide: the stated one, or those proposed. */
  function fittingMinis(path: string, mini: number): readonly number[] {
    const miniPath = `${path}.ppo_mini_batch_size`;
    const shared = (value: number): boolean => !((value * answers) % ranks > 0);
    const all = Number.isNaN(prompts) ? [] : divisors(prompts);
    const valid = all.filter(shared);
    const nearest = near(valid.length > 0 ? valid : all, mini);
    if (mini > prompts) {
      report(
        miniPath,
        `\`${miniPath}\` is ${mini} prompts, but a step has only ${prompts} (\`data.train_batch_size\`).`,
        `Lower \`${miniPath}\` to ${alternatives(nearest)}, or raise \`data.train_batch_size\` to ${mini}.`,
      );
      return nearest;
    }
    if (prompts % mini > 0) {
      report(
        miniPath,
        `\`${miniPath}\` ${mini} does not divide the ${prompts} prompts of a step (\`data.train_batch_size\`).`,
        `Nearest values: ${alternatives(nearest)}.`,
      );
      return nearest;
    }
    if (shared(mini)) return [mini];
    report(
      miniPath,
      `An update has ${mini * answers} samples (\`${miniPath}\` ${mini} × \`${rollout}.n\` ${answers}), which ${ranks} ranks cannot share equally.`,
      valid.length > 0
        ? `Nearest values: ${alternatives(nearest)}.`
        : `Change \`data.train_batch_size\` or the number of ranks first.`,
    );
    return valid.length > 0 ? nearest : [];
  }

  /** A micro-batch is wrong when it divides the update of none of these mini-batches; the values that are proposed divide all. */
  function checkMicro(path: string, minis: readonly number[]): void {
    // A critic's per-rank key follows its overall one unless it is set.
    if (checkBoth(path, "ppo_micro_batch_size") || known(`${path}.use_dynamic_bsz`) !== false) return;
    const key = MICRO_KEYS.find((name) => known(`${path}.${name}`) !== null);
    if (key === undefined) return;
    const scale = key === "ppo_micro_batch_size" ? ranks : 1;
    const stated = number(`${path}.${key}`);
    const updates = minis.map((mini) => (mini * answers) / ranks).filter((perRank) => Number.isInteger(perRank));
    if (updates.length === 0 || !updates.every((perRank) => perRank % (stated / scale) > 0)) return;
    const valid = near(divisors(updates.reduce(gcd)), stated / scale).map((value) => value * scale);
    report(
      `${path}.${key}`,
      `\`${path}.${key}\` ${stated} does not divide the ${listed(updates.map((perRank) => perRank * scale))} samples of an update${scale === 1 ? " on a rank" : ""}.`,
      `Nearest values: ${alternatives(valid)}.`,
    );
  }

  function checkBoth(path: string, key: string): boolean {
    const set = (name: string): boolean => (known(`${path}.${name}`) ?? null) !== null;
    if (!set(key) || !set(`${key}_per_gpu`)) return false;
    report(
      `${path}.${key}`,
      `Both \`${path}.${key}\` and \`${path}.${key}_per_gpu\` are set.`,
      `Keep \`${path}.${key}_per_gpu\`.`,
    );
    return true;
  }
}

const MICRO_KEYS = ["ppo_micro_batch_size_per_gpu", "ppo_micro_batch_size"] as const;

const ranksOf = (known: Known): number =>
  numberAt(known, "trainer.nnodes") * numberAt(known, "trainer.n_gpus_per_node");

/** The same for `verl sft`. */
export function checkSftBatch(known: Known, locate: Locate): Problem[] {
  const ranks = ranksOf(known);
  const batch = numberAt(known, "data.train_batch_size");
  const micro = numberAt(known, "data.micro_batch_size_per_gpu");
  const problem = (path: string, message: string, values: readonly number[]): Problem => ({
    code: "VERL_CONFIG_BATCH_SIZE",
    message,
    hint: `Nearest values: ${alternatives(values)}.`,
    location: locate(path),
  });
  const unequal = batch % ranks > 0;
  const batches = unequal ? nearestMultiples(batch, ranks) : [batch];
  const problems = unequal
    ? [
        problem(
          "data.train_batch_size",
          `\`data.train_batch_size\` ${batch} cannot be shared equally by ${ranks} ranks.`,
          batches,
        ),
      ]
    : [];
  const updates = batches.map((size) => size / ranks);
  if (!updates.every((perRank) => perRank % micro > 0)) return problems;
  const message = `\`data.micro_batch_size_per_gpu\` ${micro} does not divide the ${listed(updates)} conversations of an update on a rank.`;
  return [...problems, problem("data.micro_batch_size_per_gpu", message, nearestDivisors(updates.reduce(gcd), micro))];
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

const listed = (values: readonly number[]): string => alternatives([...new Set(values)]);

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));
