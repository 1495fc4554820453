import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { configJsonSchema } from "../config/index.ts";
import type { CliCommand } from "./command.ts";
import { addRegistryOptions, loadForOptions, type RegistryOptions } from "./registry-options.ts";

export const command: CliCommand = {
  configure(self, ctx) {
    addRegistryOptions(self)
      .option("--out <file>", "write it to a file, for example verl.schema.json")
      .option("--sft", "the schema of a config of `verl sft`")
      .action(async (options: RegistryOptions & { out?: string; sft?: boolean }) => {
        await loadForOptions(options, ctx);
        const text = JSON.stringify(configJsonSchema(options.sft ? "sft" : "ppo"), null, 2);
        if (options.out === undefined) return ctx.print(text);
        writeFileSync(resolve(ctx.cwd, options.out), `${text}\n`);
        ctx.logger.info(`Wrote ${options.out}. First line of a config: # yaml-language-server: $schema=${options.out}`);
      });
  },
};
