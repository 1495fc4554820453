import { leaves } from "../config/print.ts";

/** Keys of `trainer` that change what is trained; the rest says where, how often and how long. */
const TRAINER_KEYS = new Set(["trainer.seed", "trainer.critic_warmup", "trainer.balance_batch"]);
/** The length of the run, which learning rates follow unless they are constant and have no warm-up by ratio. */
const LENGTH_KEYS = new Set(["trainer.total_training_steps", "trainer.total_epochs"]);
const CONSTANT: readonly (readonly [suffix: string, value: string])[] = [
  [".lr_scheduler_type", '"constant"'],
  [".lr_warmup_steps_ratio", "0"],
];
/** Names of keys and sections that change speed, memory, places, validation or files, but not the training. */
const WITHOUT_EFFECT =
  /(^|\.)(\w*micro_batch_size\w*|\w*max_token_len\w*|\w*use_dynamic_bsz|checkpoint|val_\w+|hybrid_engine|free_cache_engine|update_weights_\w+|nnodes|n_gpus_per_node|num_workers|resource_pool_spec|role_mapping)(\.|$)/;
/** Changes that are told one by one. */
const SHOWN = 8;

/** The keys that differ and change the run, each as `key (before → now)`; the last item counts those beyond a few. */
export function configChanges(before: unknown, now: object): string[] {
  const [old, current] = [valuesOf(before), valuesOf(now)];
  const changed = [...new Set([...old.keys(), ...current.keys()])]
    .filter(
      (key) =>
        (changesRun(key) || (LENGTH_KEYS.has(key) && followsLength(current))) && old.get(key) !== current.get(key),
    )
    .map((key) => `${key} (${old.get(key) ?? "not set"} → ${current.get(key) ?? "not set"})`);
  const more = changed.length - SHOWN;
  return more > 0 ? [...changed.slice(0, SHOWN), `${more} more`] : changed;
}

const valuesOf = (tree: unknown): Map<string, string> =>
  new Map([...leaves(tree, [])].map(([path, value]) => [path.join("."), JSON.stringify(value) ?? "null"]));

const changesRun = (key: string): boolean =>
  !WITHOUT_EFFECT.test(key) && (!key.startsWith("trainer.") || TRAINER_KEYS.has(key));

const followsLength = (values: ReadonlyMap<string, string>): boolean =>
  [...values].some(([key, value]) => CONSTANT.some(([suffix, constant]) => key.endsWith(suffix) && value !== constant));
