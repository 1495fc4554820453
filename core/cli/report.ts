import { resolve } from "node:path";
import { readReportData, summarise, writeReport } from "../trainer/report/index.ts";
import type { CliCommand } from "./command.ts";

export const command: CliCommand = {
  configure(self, ctx) {
    self.argument("<run-dir>", "the run's directory, trainer.default_local_dir").action(async (given: string) => {
      const runDir = resolve(ctx.cwd, given);
      const data = await readReportData(runDir);
      for (const line of summarise(data)) ctx.status(`${line}\n`);
      ctx.print(await writeReport(runDir, data));
    });
  },
};
