import { resolve } from "node:path";
import { writeReport } from "../trainer/report/index.ts";
import type { CliCommand } from "./command.ts";

export const command: CliCommand = {
  configure(self, ctx) {
    self
      .argument("<run-dir>", "the run's directory, trainer.default_local_dir")
      .action(async (runDir: string) => ctx.print(await writeReport(resolve(ctx.cwd, runDir))));
  },
};
