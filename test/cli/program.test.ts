import { describe, expect, it } from "@jest/globals";
import type { CommandRow } from "../../core/cli/commands.ts";
import { COMMANDS } from "../../core/cli/commands.ts";
import { VerlError } from "../../core/errors/index.ts";
import { VERSION } from "../../core/registry/version.ts";
import { cli } from "./helpers.ts";

/** A command that does `action` and counts how often its file was imported. */
function fake(action: (word?: string) => unknown): { commands: CommandRow[]; loads: () => number } {
  let loads = 0;
  const row: CommandRow = {
    name: "work",
    summary: "Do some work",
    load: () => {
      loads++;
      const command: Awaited<ReturnType<CommandRow["load"]>>["command"] = {
        configure: (self) =>
          void self
            .argument("[word]")
            .option("--fast")
            .action(async (word?: string) => void (await action(word))),
      };
      return Promise.resolve({ command });
    },
  };
  return { commands: [row], loads: () => loads };
}

const doing = (action: (word?: string) => unknown) => fake(action).commands;

it("names every command in the help, without importing one", async () => {
  const { commands, loads } = fake(() => undefined);
  for (const argv of [[], ["--help"], ["-h"]]) {
    const { code, stdout, stderr } = await cli(argv, { commands });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("work");
    expect(stdout).toContain("Do some work");
  }
  expect(loads()).toBe(0);
});

it("shows the help of one command, either way it is asked for", async () => {
  for (const argv of [
    ["work", "--help"],
    ["help", "work"],
  ]) {
    const { code, stdout } = await cli(argv, { commands: doing(() => undefined) });
    expect(code).toBe(0);
    expect(stdout).toContain("--fast");
  }
});

it("documents its exit codes in every help", async () => {
  for (const argv of [[], ["--help"], ["work", "--help"]]) {
    const { stdout } = await cli(argv, { commands: doing(() => undefined) });
    for (const words of ["Exit codes: 0 done;", "1 the work failed", "2 wrong usage", "130 interrupted"])
      expect(stdout).toContain(words);
  }
});

it("prints its version", async () => {
  expect(await cli(["--version"])).toEqual({ code: 0, stdout: `${VERSION}\n`, stderr: "" });
});

it("passes words with signs on as they are", async () => {
  const words: unknown[] = [];
  await cli(["work", "+a.b=[1,2]"], { commands: doing((word) => words.push(word)) });
  await cli(["work", "~a.b"], { commands: doing((word) => words.push(word)) });
  expect(words).toEqual(["+a.b=[1,2]", "~a.b"]);
});

describe("usage errors end with 2 and a suggestion", () => {
  it.each([
    [["wrok"], "Did you mean work?"],
    [["work", "--fsat"], "Did you mean --fast?"],
    [["work", "a", "b"], "too many arguments"],
  ])("%j", async (argv, words) => {
    const { code, stdout, stderr } = await cli(argv, { commands: doing(() => undefined) });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(words);
    expect(stderr).toContain("verl --help");
  });
});

describe("a failing command", () => {
  const failing = (error: unknown) =>
    doing(() => {
      throw error;
    });

  it.each([
    ["the user's mistake", new VerlError("VERL_KIND_UNKNOWN", "No such kind."), 2],
    ["a plugin that does not load", new VerlError("VERL_PLUGIN_IMPORT", "It threw."), 2],
    ["a plugin's fault in a run", new VerlError("VERL_ENTRY_FAILED", "It threw."), 1],
    ["our own fault", new VerlError("VERL_INTERNAL", "It broke."), 1],
    ["any other error", new TypeError("x is not a function"), 1],
  ])("says what is wrong on stderr, and its exit code tells %s", async (_, error, expected) => {
    const { code, stdout, stderr } = await cli(["work"], { commands: failing(error) });
    expect({ code, stdout }).toEqual({ code: expected, stdout: "" });
    expect(stderr).toContain(error.message);
  });

  it("ends with 130 when it was stopped and gave up, with 0 when it did its work all the same", async () => {
    const signal = AbortSignal.abort();
    expect((await cli(["work"], { commands: doing(() => undefined), signal })).code).toBe(0);
    expect(await cli(["work"], { commands: failing(signal.reason), signal })).toEqual({
      code: 130,
      stdout: "",
      stderr: "",
    });
  });
});

it("keeps its table sorted, and each command in a file of its name", async () => {
  const names = COMMANDS.map(({ name }) => name);
  expect(names).toEqual([...names].sort());
  for (const { name, load } of COMMANDS) {
    expect(load.toString()).toContain(`./${name}.ts`);
    expect(typeof (await load()).command.configure).toBe("function");
  }
});
