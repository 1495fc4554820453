import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { VerlError } from "../errors/index.ts";
import { registries } from "../registry/index.ts";
import type { CliCommand, CliContext } from "./command.ts";
import { probeBackends } from "./doctor/probe-backends.ts";
import { addRegistryOptions, loadForOptions, type RegistryOptions } from "./registry-options.ts";
import { table } from "./table.ts";

interface InstallOptions extends RegistryOptions {
  from?: string;
  cuda?: boolean;
  project: string;
}

export const command: CliCommand = {
  configure(self, ctx) {
    addRegistryOptions(
      self.command("list").description("Show which backends can run here, and why others cannot"),
    ).action(async (options: RegistryOptions) => {
      await loadForOptions(options, ctx);
      const { reasons } = await probeBackends();
      const states = registries.tensor_backend.entries().map(([key, { description }]) => {
        const reason = reasons.get(key);
        return { key, description, usable: reason === undefined, reason };
      });
      if (options.json) ctx.print(JSON.stringify(states, null, 2));
      else
        ctx.print(
          table(states.map(({ key, usable, reason }) => [key, usable ? "usable" : "not usable", reason ?? ""])),
        );
    });
    addRegistryOptions(
      self
        .command("install")
        .description("Bring what a backend needs and `npm install` alone does not")
        .argument("<key>", "the backend, as `verl list tensor_backend` shows them"),
    )
      .option(
        "--from <source>",
        "where its library comes from: archive, python, a folder or a file; default: the first that works",
      )
      .option("--cuda", "for NVIDIA's GPUs")
      .option("--project <folder>", "project that the packages go to", ".")
      .addHelpText("after", "\nExample:\n  verl backend install tensorflow --from python")
      .action(async (key: string, options: InstallOptions) => {
        await loadForOptions(options, ctx);
        const done = await ctx.run(
          () => install(key, options, ctx),
          () => "The installation was not finished; run the command again.",
        );
        ctx.print(options.json ? JSON.stringify({ key, installed: done }) : done);
      });
  },
};

async function install(key: string, { from, cuda = false, project }: InstallOptions, ctx: CliContext): Promise<string> {
  const backend = registries.tensor_backend.resolve(key);
  if (!backend.install) {
    const reason = (await probeBackends([key])).reasons.get(key);
    const hint = reason === undefined ? "It can run here." : `It cannot run here: ${reason}`;
    throw new VerlError("VERL_BACKEND_REQUEST", `The tensor backend "${key}" has nothing to install.`, { hint });
  }
  const folder = resolve(ctx.cwd, project);
  if (!existsSync(folder)) {
    throw new VerlError("VERL_BACKEND_REQUEST", `There is no folder ${folder}.`, { location: { path: "--project" } });
  }
  return backend.install({
    project: folder,
    from: from === undefined || /^\w+$/.test(from) ? from : resolve(ctx.cwd, from),
    cuda,
    log: (line) => ctx.logger.info(line),
    signal: ctx.signal,
  });
}
