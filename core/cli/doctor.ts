import type { LoadedConfig } from "../config/index.ts";
import { counted } from "../errors/index.ts";
import { CheckFailed, type Check } from "./doctor/check.ts";
import type { CliCommand, CliContext } from "./command.ts";
import { addConfigOptions, loadOptions, type ConfigOptions } from "./config-options.ts";
import { table } from "./table.ts";

interface Options extends ConfigOptions {
  sft?: boolean;
  json?: boolean;
}

export const command: CliCommand = {
  configure(self, ctx) {
    addConfigOptions(self)
      .option("--sft", "it is a config of `verl sft`")
      .option("--json", "print JSON")
      .addHelpText("after", "\nExamples:\n  verl doctor\n  verl doctor run.yaml trainer.device=cuda")
      .action(async (args: string[], options: Options) => {
        const checks = await examine(args, options, ctx);
        const failed = checks.filter(({ state }) => state === "fail").length;
        if (options.json) ctx.print(JSON.stringify({ failed, checks }, null, 2));
        else ctx.print(report(checks, failed));
        if (failed > 0) throw new CheckFailed(failed);
      });
  },
};

async function examine(args: string[], options: Options, ctx: CliContext): Promise<Check[]> {
  const [machine, configured, backends] = await Promise.all([
    import("./doctor/machine.ts"),
    import("./doctor/config.ts"),
    import("./doctor/backends.ts"),
  ]);
  const checks = [...machine.checkMachine(ctx.cwd), await machine.checkGpu()];
  const hasConfig = args.length > 0 || options.config !== undefined || options.configName !== undefined;
  let loaded: LoadedConfig | undefined;
  if (hasConfig) {
    const read = await configured.checkConfig(loadOptions(options.sft ? "sft" : "ppo", args, options, ctx));
    checks.push(...read.checks);
    loaded = read.loaded;
  }
  checks.push(...(await backends.checkBackends(loaded?.config.tensor_backend ?? null)));
  checks.push(...(await configured.checkPlugins(ctx.cwd)));
  if (loaded !== undefined) checks.push(...(await configured.checkSurroundings(loaded)));
  return checks;
}

const MARKS = { ok: "✔", note: "-", fail: "✖" } as const;

function report(checks: readonly Check[], failed: number): string {
  const rows = checks.map(({ name, state, detail }) => [MARKS[state], name, detail]);
  const fixes = checks.flatMap(({ name, fix }) => (fix === undefined ? [] : [`${name}: ${fix}`]));
  return [
    table(rows, ""),
    ...(fixes.length > 0 ? ["", "What to do:", ...fixes.map((fix) => `  ${fix.replaceAll("\n", "\n    ")}`)] : []),
    "",
    failed === 0 ? "Nothing is wrong." : `${failed} of ${counted(checks.length, "check")} failed.`,
  ].join("\n");
}
