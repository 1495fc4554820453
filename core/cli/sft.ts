import type { CliCommand } from "./command.ts";
import { withoutPython } from "./config-options.ts";
import { configureRun } from "./run-command.ts";

export const command: CliCommand = {
  rewrite: (words, ctx) => withoutPython(words, "sft", ctx),
  configure(self, ctx) {
    configureRun(self, ctx, {
      schema: "sft",
      examples: [
        "verl sft examples/sort-letters/sft.yaml",
        "verl sft -c sft.yaml optim.lr=1e-4 trainer.total_epochs=3 --seed 1",
        "verl train -c run.yaml actor_rollout_ref.model.path=runs/sft/huggingface",
      ],
      async run(config, options) {
        const { SftTrainer } = await import("../trainer/sft-trainer.ts");
        return (await SftTrainer.create(config, options)).fit();
      },
    });
  },
};
