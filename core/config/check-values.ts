import type { ErrorLocation } from "../errors/index.ts";
import { checkRanks, checkTrainerRanks } from "./check-ranks.ts";
import type { Problem } from "./problem.ts";
import type { PpoConfig, SftConfig } from "./schema/index.ts";

/** Pools that every run has, to which a role can be mapped, and names that further pools cannot have. */
const OWN_POOLS: readonly string[] = ["actor_pool", "reward_pool"];
const TAKEN_POOLS: readonly string[] = [...OWN_POOLS, "rollout_pool", "agent_loop_pool"];

type Locate = (path: string) => ErrorLocation;

/** Values that are right by themselves and contradict each other. */
export function checkValues(config: PpoConfig, locate: Locate): Problem[] {
  const { data, trainer, actor_rollout_ref: policy, reward_model: rewardModel } = config;
  const problems: Problem[] = [...checkResume(trainer, locate), ...checkData(data, locate, data.dataset === "rlhf")];
  const report = (path: string, message: string, hint?: string) =>
    problems.push({ code: "VERL_CONFIG_VALUE", message, hint, location: locate(path) });
  const { rollout } = policy;

  if (!policy.hybrid_engine && rollout.nnodes === 0) {
    report(
      "actor_rollout_ref.hybrid_engine",
      "`actor_rollout_ref.hybrid_engine` is false, but the rollout has no ranks of its own.",
      "Set actor_rollout_ref.rollout.nnodes to 1 or more, and n_gpus_per_node beside it.",
    );
  }
  if (rollout.temperature === 0 || !rollout.do_sample) {
    const key = rollout.temperature === 0 ? "temperature" : "do_sample";
    report(
      `actor_rollout_ref.rollout.${key}`,
      `\`actor_rollout_ref.rollout.${key}\` is ${rollout[key]}, so training would sample greedily, and all answers to a prompt would be the same.`,
      "Greedy answers are for validation: actor_rollout_ref.rollout.val_kwargs.",
    );
  }
  if (rollout.prompt_length < data.max_prompt_length) {
    report(
      "actor_rollout_ref.rollout.prompt_length",
      `\`actor_rollout_ref.rollout.prompt_length\` is ${rollout.prompt_length}, below \`data.max_prompt_length\` ${data.max_prompt_length}: longer prompts would be cut.`,
      "Leave it at its default, ${data.max_prompt_length}.",
    );
  }
  if (rewardModel.enable && rewardModel.reward_manager !== "model") {
    report(
      "reward_model.enable",
      "`reward_model.enable` is true, but reward models are not started here.",
      "Serve it by vLLM or SGLang, and set reward_model.reward_manager=model and its address, reward_model.reward_kwargs.url.",
    );
  }
  return [...problems, ...checkPools(config, locate), ...checkRanks(config, locate)];
}

/** Roles stand in pools that there are, and pools have ranks, and roles. */
function checkPools({ controller }: PpoConfig, locate: Locate): Problem[] {
  const { resource_pool_spec: spec, role_mapping: mapping } = controller;
  const problem = (path: string, message: string, hint: string): Problem => {
    return { code: "VERL_CONFIG_VALUE", message, hint, location: locate(path) };
  };
  const isRanks = (value: unknown): boolean =>
    Array.isArray(value) && value.length > 0 && value.every((ranks) => Number.isSafeInteger(ranks) && ranks > 0);
  const odd = Object.entries(spec).filter(([, ranks]) => !isRanks(ranks));
  const taken = Object.keys(spec).filter((pool) => TAKEN_POOLS.includes(pool));
  const known = [...OWN_POOLS, ...Object.keys(spec)];
  const unused = Object.keys(spec).filter(
    (pool) => !TAKEN_POOLS.includes(pool) && !Object.values(mapping).includes(pool),
  );
  const lost = Object.entries(mapping).filter(([, pool]) => !known.includes(pool));
  return [
    ...odd.map(([pool]) =>
      problem(
        "controller.resource_pool_spec",
        `\`controller.resource_pool_spec\` gives the pool "${pool}" no list of ranks.`,
        "List the ranks on each of its machines: [1] is one machine of one rank, [8, 8] are two of eight.",
      ),
    ),
    ...taken.map((pool) =>
      problem(
        "controller.resource_pool_spec",
        `\`controller.resource_pool_spec\` names the pool "${pool}", which the run has already.`,
        "Other keys say how many ranks it has: trainer, actor_rollout_ref.rollout, and its agent.num_workers.",
      ),
    ),
    ...unused.map((pool) =>
      problem(
        "controller.resource_pool_spec",
        `\`controller.resource_pool_spec\` gives the pool "${pool}", in which no role stands.`,
        `Set controller.role_mapping.critic=${pool}, or that of another role (${Object.keys(mapping).join(", ")}), or leave the pool out.`,
      ),
    ),
    ...lost.map(([role, pool]) =>
      problem(
        `controller.role_mapping.${role}`,
        `\`controller.role_mapping.${role}\` names the pool "${pool}", which does not exist.`,
        `Pools: ${known.join(", ")}. Others come by controller.resource_pool_spec.`,
      ),
    ),
  ];
}

/** The same for `verl sft`. */
export const checkSftValues = ({ data, trainer }: SftConfig, locate: Locate): Problem[] => [
  ...checkResume(trainer, locate),
  ...checkData(data, locate, true),
  ...checkTrainerRanks({ trainer }, locate),
];

/** Whether there can be any rows. A dataset of a plugin may need no files. */
function checkData(data: PpoConfig["data"] | SftConfig["data"], locate: Locate, readsFiles: boolean): Problem[] {
  const problems: Problem[] = [];
  const empty = (key: "train_files" | "train_max_samples" | "val_max_samples", message: string, hint: string): void => {
    const path = `data.${key}`;
    problems.push({ code: "VERL_DATA_EMPTY", message: `\`${path}\` ${message}`, hint, location: locate(path) });
  };
  if (readsFiles && data.train_files.length === 0)
    empty(
      "train_files",
      "names no file, so there is nothing to train on.",
      "Name a parquet or JSON Lines file, or a list.",
    );
  if (data.train_max_samples === 0)
    empty("train_max_samples", "is 0, so there is nothing to train on.", "-1: all rows.");
  if (data.val_max_samples === 0 && data.val_files.length > 0)
    empty(
      "val_max_samples",
      "is 0, so there is nothing to validate on.",
      "-1: all rows; data.val_files=null: no validation.",
    );
  return problems;
}

function checkResume(trainer: PpoConfig["trainer"] | SftConfig["trainer"], locate: Locate): Problem[] {
  if (trainer.resume_mode !== "resume_path" || trainer.resume_from_path !== null) return [];
  return [
    {
      code: "VERL_CONFIG_VALUE",
      message: "`trainer.resume_mode` is resume_path, but `trainer.resume_from_path` is null.",
      hint: "Set `trainer.resume_from_path` to a checkpoint folder (global_step_N).",
      location: locate("trainer.resume_mode"),
    },
  ];
}
