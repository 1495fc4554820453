import type { CliContext } from "../../core/cli/command.ts";
import { runCli } from "../../core/cli/program.ts";
import { createLogger } from "../../core/registry/logger.ts";

export interface CliResult {
  code: number;
  stdout: string;
  stderr: string;
}

export interface FakeTerminal extends Partial<CliContext> {
  commands?: Parameters<typeof runCli>[2];
}

/** Runs one command line in this process, with streams that are kept. */
export async function cli(argv: readonly string[], { commands, ...given }: FakeTerminal = {}): Promise<CliResult> {
  const [out, err]: [string[], string[]] = [[], []];
  const ctx: CliContext = {
    print: (text) => void out.push(`${text}\n`),
    reserveStdout: () => undefined,
    status: (text) => void err.push(text),
    logger: createLogger({ write: (line) => void err.push(`${line}\n`) }),
    signal: new AbortController().signal,
    run: (work) => work(),
    cwd: process.cwd(),
    interactive: false,
    color: false,
    ...given,
  };
  const code = await runCli(argv, ctx, commands);
  return { code, stdout: out.join(""), stderr: err.join("") };
}
