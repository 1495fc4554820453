import { choice, flag, integer, section, text, texts } from "./field.ts";

/** Keys that the PPO and the SFT trainer share. */
export function commonTrainer(defaults: { project: string; experiment: string; epochs: number; seedInVerl: string }) {
  return {
    total_epochs: integer("Passes over the training files.", defaults.epochs, { minimum: 1 }),
    total_training_steps: integer("Steps of the run; null: `total_epochs` over the files.", null, { minimum: 1 }),
    project_name: text("Project, for trackers and folders.", defaults.project),
    experiment_name: text("Experiment, for trackers and folders.", defaults.experiment),
    logger: texts("Trackers, keys of the `tracker` registry; one or a list.", ["console", "file", "tensorboard"], {
      "x-departure": "verl's default is [console, wandb].",
    }),
    seed: integer("Seed of the run: weights, order, sampling.", 0, {
      minimum: 0,
      "x-departure": defaults.seedInVerl,
    }),
    device: choice("Where tensors live.", "cpu", ["cpu", "webgpu", "cuda", "npu"], {
      "x-departure": "verl's default is `cuda`.",
    }),
    nnodes: integer("Machines; more than 1 needs a transport that reaches them, such as `ray`.", 1, { minimum: 1 }),
    n_gpus_per_node: integer("Ranks a machine.", 1, {
      minimum: 1,
      "x-departure": "verl's default is 8.",
    }),
    save_freq: integer("Steps between checkpoints; -1 or 0: none.", -1, { minimum: -1 }),
    test_freq: integer("Steps between validations; -1 or 0: none.", -1, { minimum: -1 }),
    resume_mode: choice(
      "`auto`: from the latest checkpoint, if any; `disable`: from scratch; `resume_path`: from `resume_from_path`.",
      "auto",
      ["auto", "disable", "resume_path"],
      { "x-aliases": { path: "resume_path" } },
    ),
    resume_from_path: text("Checkpoint folder of `resume_path`.", null),
    max_restarts: integer(
      "Times that a run goes on by itself from its last checkpoint when a worker, its process or its machine died; 0: such a run fails.",
      0,
      { minimum: 0, "x-departure": "Not in verl, where such a run fails." },
    ),
    default_local_dir: text(
      "Folder of checkpoints, metrics and the report.",
      "checkpoints/${trainer.project_name}/${trainer.experiment_name}",
    ),
  };
}

export const trainer = section("The run.", {
  ...commonTrainer({ project: "verl_examples", experiment: "gsm8k", epochs: 30, seedInVerl: "Not in verl." }),
  critic_warmup: integer("The actor is trained from this step on; before it, the critic alone.", 0, { minimum: 0 }),
  balance_batch: flag("Give each rank samples of about the same total length.", true),
  val_before_train: flag("Validate before the first step.", true),
  val_only: flag("Validate and stop.", false),
  log_val_generations: integer("Validation answers to show.", 0, { minimum: 0 }),
  rollout_data_dir: text("Folder of rollouts, one JSONL file a step; null: none.", null),
  validation_data_dir: text("Folder of validation answers, one JSONL file a validation; null: none.", null),
  max_actor_ckpt_to_keep: integer("Checkpoints to keep, each with actor and critic; null: all.", null, { minimum: 1 }),
});
