import type { ErrorLocation } from "../errors/index.ts";
import { numberAt, type Known } from "./known-values.ts";
import type { Problem } from "./problem.ts";
import { knownToUseCritic } from "./uses-critic.ts";

/** A section that cuts its micro-batches by tokens where `cutsBy` is on. */
interface Bound {
  readonly cutsBy: string;
  readonly limit: string;
  readonly isUsed: (known: Known) => boolean;
}

const [ACTOR, ROLLOUT, REF] = ["actor_rollout_ref.actor", "actor_rollout_ref.rollout", "actor_rollout_ref.ref"];

const usesReference = (known: Known): boolean =>
  known(`${ACTOR}.use_kl_loss`) === true || known("algorithm.use_kl_in_reward") === true;

/** A section comes after the one that its limit follows unless it is set. */
const BOUNDS: readonly Bound[] = [
  { cutsBy: `${ACTOR}.use_dynamic_bsz`, limit: `${ACTOR}.ppo_max_token_len_per_gpu`, isUsed: () => true },
  {
    cutsBy: `${ROLLOUT}.log_prob_use_dynamic_bsz`,
    limit: `${ROLLOUT}.log_prob_max_token_len_per_gpu`,
    isUsed: () => true,
  },
  {
    cutsBy: `${REF}.log_prob_use_dynamic_bsz`,
    limit: `${REF}.log_prob_max_token_len_per_gpu`,
    isUsed: usesReference,
  },
  { cutsBy: "critic.use_dynamic_bsz", limit: "critic.ppo_max_token_len_per_gpu", isUsed: knownToUseCritic },
  { cutsBy: "critic.use_dynamic_bsz", limit: "critic.forward_max_token_len_per_gpu", isUsed: knownToUseCritic },
];

/**
 * Whether the longest sample fits where micro-batches are cut by tokens, as verl asserts once it comes: the bound is there for the
 * memory's sake, and a sample above it would break it. One limit that others follow is told once.
 */
export function checkTokenBounds(known: Known, locate: (path: string) => ErrorLocation): Problem[] {
  const [prompt, response] = [
    numberAt(known, `${ROLLOUT}.prompt_length`),
    numberAt(known, `${ROLLOUT}.response_length`),
  ];
  const longest = prompt + response;
  const told = new Set<number>();
  return BOUNDS.flatMap(({ cutsBy, limit, isUsed }): Problem[] => {
    const bound = numberAt(known, limit);
    if (known(cutsBy) !== true || !isUsed(known) || !(bound < longest) || told.has(bound)) return [];
    told.add(bound);
    return [
      {
        code: "VERL_CONFIG_BATCH_SIZE",
        message: `\`${limit}\` is ${bound} tokens, but a sample may have ${longest} (\`${ROLLOUT}.prompt_length\` ${prompt} + \`${ROLLOUT}.response_length\` ${response}), and \`${cutsBy}\` is on.`,
        hint: `Raise \`${limit}\` to ${longest} or more, or lower the two lengths, which follow those of \`data\`.`,
        location: locate(limit),
      },
    ];
  });
}
