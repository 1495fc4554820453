import { relative, resolve } from "node:path";
import { install, makeRepository } from "./after.ts";
import { ownPackage } from "./assets.ts";
import { settle, type Choices } from "./choices.ts";
import { HELP, LIST, parseFlags, type Flags } from "./flags.ts";
import { runScript } from "./package-manager.ts";
import { projectFiles } from "./project-files.ts";
import type { Terminal } from "./terminal.ts";
import { Cancelled, UsageError } from "./usage-error.ts";
import { checkTarget, writeProject } from "./write-project.ts";

/** Runs one command line. @returns the exit code: 0 done, 1 failed, 2 wrong usage, 130 cancelled. */
export async function main(argv: readonly string[], terminal: Terminal): Promise<number> {
  try {
    return await run(parseFlags(argv), terminal);
  } catch (error) {
    if (error instanceof Cancelled) {
      terminal.note(`Cancelled; ${error.message}.`);
      return 130;
    }
    terminal.note(error instanceof Error ? error.message : String(error));
    return error instanceof UsageError ? 2 : 1;
  }
}

async function run(flags: Flags, terminal: Terminal): Promise<number> {
  if (flags.help) return done(terminal, HELP);
  if (flags.list) return done(terminal, LIST);
  if (flags.version) return done(terminal, ownPackage().version);

  const asks = terminal.interactive && !flags.yes;
  const choices = await settle(flags, terminal, asks ? (await import("./prompts.ts")).prompts : undefined);
  const directory = resolve(terminal.cwd, choices.directory);
  const files = projectFiles(choices);
  checkTarget(directory, files, flags.overwrite);
  if (flags.dryRun) return done(terminal, [...files.keys()].join("\n"));

  await writeProject(directory, files);
  terminal.note(`Wrote ${files.size} files to ${directory}.`);
  const installed = choices.install && install(directory, choices.pm);
  if (choices.git && !makeRepository(directory)) terminal.note("There is no git here, so no repository was made.");
  terminal.print(nextSteps(choices, relative(terminal.cwd, directory), installed));
  if (choices.install && !installed) {
    terminal.note(`${choices.pm} could not install the dependencies; the project itself is complete.`);
    return 1;
  }
  return 0;
}

function done(terminal: Terminal, text: string): number {
  terminal.print(text);
  return 0;
}

function nextSteps({ pm }: Choices, directory: string, installed: boolean): string {
  const quoted = /\s/.test(directory) ? `"${directory}"` : directory;
  return [
    "Next:",
    ...(directory === "" ? [] : [`  cd ${quoted}`]),
    ...(installed ? [] : [`  ${pm} install`]),
    `  ${runScript(pm, "check")} && ${runScript(pm, "test")}`,
    `  ${runScript(pm, "try").padEnd(24)} trains a small model with it, in about a minute`,
  ].join("\n");
}
