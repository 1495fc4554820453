import type { ErrorLocation } from "../errors/index.ts";
import { registries } from "../registry/index.ts";
import { numberAt, type Known } from "./known-values.ts";
import type { Problem } from "./problem.ts";

/** What keeps a PPO config whose values are all valid from being run. Plugins must be loaded before. */
export function checkRunnable(known: Known, locate: (path: string) => ErrorLocation): Problem[] {
  return [...checkGroups(known), ...checkValidation(known), ...checkGeneration(known)].map(({ path, ...problem }) => ({
    ...problem,
    location: locate(path),
  }));
}

type Finding = Omit<Problem, "location"> & { readonly path: string };

/** An estimator that compares a prompt's answers needs more than one of them. */
function checkGroups(known: Known): Finding[] {
  const path = "actor_rollout_ref.rollout.n";
  const estimator = known("algorithm.adv_estimator");
  if (typeof estimator !== "string" || !registries.adv_estimator.has(estimator)) return [];
  const { entry, key } = registries.adv_estimator.find(estimator);
  if (!entry.needsGroups || numberAt(known, path) !== 1) return [];
  return [
    {
      code: "VERL_TRAIN_NEEDS_GROUPS",
      message: `The advantage estimator "${key}" compares the answers to a prompt, but \`${path}\` is 1.`,
      hint: `Set ${path} to 2 or more (8 is usual), or choose an estimator that takes one answer a prompt.`,
      path,
    },
  ];
}

/** A run that only validates needs something to validate. */
function checkValidation(known: Known): Finding[] {
  const files = known("data.val_files");
  if (known("trainer.val_only") !== true || !Array.isArray(files) || files.length > 0) return [];
  return [
    {
      code: "VERL_DATA_EMPTY",
      message: "`trainer.val_only` is true, but `data.val_files` names no file.",
      hint: "Name the validation files, or set trainer.val_only=false.",
      path: "data.val_files",
    },
  ];
}

/** A feature that is still to come: silence would train something else than was asked for. */
function checkGeneration(known: Known): Finding[] {
  const path = "data.gen_batch_size";
  const [size, prompts] = [numberAt(known, path), numberAt(known, "data.train_batch_size")];
  if (known("algorithm.filter_groups.enable") !== false || !Math.abs(size - prompts)) return [];
  return [
    {
      code: "VERL_TRAIN_UNAVAILABLE",
      message: `\`${path}\` asks for generation batches of another size than a step's outside dynamic sampling, which this version does not have.`,
      hint: `Leave \`${path}\` at its default.`,
      path,
    },
  ];
}
