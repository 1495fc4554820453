import type { CliCommand } from "./command.ts";
import { configureCheck } from "./data-check.ts";
import { configureConvert } from "./data-convert.ts";

export const command: CliCommand = {
  configure(self, ctx) {
    configureCheck(self.command("check"), ctx);
    configureConvert(self.command("convert"), ctx);
  },
};
