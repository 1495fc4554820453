import type { CliCommand } from "./command.ts";
import { withoutPython } from "./config-options.ts";
import { configureRun } from "./run-command.ts";

export const command: CliCommand = {
  rewrite: (words, ctx) => withoutPython(words, "train", ctx),
  configure(self, ctx) {
    configureRun(self, ctx, {
      schema: "ppo",
      examples: [
        "verl train examples/sort-letters/grpo.yaml",
        "verl train -c run.yaml algorithm.adv_estimator=rloo actor_rollout_ref.rollout.n=8 --seed 1",
        "verl train --config-path conf --config-name gsm8k trainer.total_training_steps=100",
        "verl train -c run.yaml trainer.resume_mode=disable",
      ],
      async run(config, options) {
        const { PpoTrainer } = await import("../trainer/ppo-trainer.ts");
        return (await PpoTrainer.create(config, options)).fit();
      },
    });
  },
};
