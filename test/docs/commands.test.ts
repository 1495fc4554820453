import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { COMMANDS } from "../../core/cli/commands.ts";
import { HELP, parseFlags } from "../../templates/src/flags.ts";
import { cli } from "../cli/helpers.ts";
import { root } from "./blocks.ts";

const readme = readFileSync(join(root, "README.md"), "utf8");

/** Every command with subcommands, and the names of those. */
const NESTED: [string, string[]][] = [];
for (const { name } of COMMANDS) {
  const [, listed = ""] = (await cli([name, "--help"])).stdout.split("Commands:\n");
  const own = [...listed.matchAll(/^ {2}([a-z]+)/gm)].map(([, sub]) => sub!).filter((sub) => sub !== "help");
  if (own.length > 0) NESTED.push([name, own]);
}

const SUBCOMMANDS = NESTED.flatMap(([name, own]) => own.map((sub) => [name, sub] as const));

describe("the command line's help and the README's table of commands", () => {
  it("name the same commands", async () => {
    const { stdout } = await cli(["--help"]);
    for (const { name, summary } of COMMANDS) {
      expect(stdout).toContain(name);
      expect(stdout.replace(/\s+/g, " ")).toContain(summary);
      expect(readme).toMatch(new RegExp(`^\\|[^|]*\`verl [^|\`]*\\b${name}\\b`, "m"));
    }
    const named = [...readme.matchAll(/^\| (`verl [^|]*?) \|/gm)].flatMap(([, cell]) =>
      [...cell!.matchAll(/`verl (\w+)/g)].map(([, name]) => name),
    );
    const known = COMMANDS.map(({ name }) => name);
    expect(named.filter((name) => !known.includes(name!))).toEqual([]);
  });

  it.each(COMMANDS.map(({ name }) => name))(
    "verl %s --help: usage, summary and what each option is for",
    async (name) => {
      const { code, stdout, stderr } = await cli([name, "--help"]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).toMatch(new RegExp(`^Usage: verl ${name}`));
      const options = stdout.split("\n").filter((line) => /^ {2}-/.test(line));
      expect(options.length).toBeGreaterThan(0);
      for (const option of options) expect(option.trim()).toMatch(/\S {2,}\S|>$|\.\.\.\]$/);
    },
  );

  it.each(COMMANDS.map(({ name }) => name))("an unknown flag of verl %s gets a suggestion", async (name) => {
    const { code, stderr } = await cli([name, "--hlep"]);
    expect(code).toBe(2);
    expect(stderr).toContain("Did you mean --help?");
  });

  it.each(SUBCOMMANDS)(
    "verl %s %s --help: usage, and what each option is for; slips get a suggestion",
    async (name, sub) => {
      const { code, stdout, stderr } = await cli([name, sub, "--help"]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).toMatch(new RegExp(`^Usage: verl ${name} ${sub}`));
      for (const option of stdout.split("\n").filter((line) => /^ {2}-/.test(line)))
        expect(option.trim()).toMatch(/\S {2,}\S|>$|\.\.\.\]$/);
      const flag = await cli([name, sub, "--hlep"]);
      expect(flag.code).toBe(2);
      expect(flag.stderr).toContain("Did you mean --help?");
      const command = await cli([name, `${sub}x`]);
      expect(command.code).toBe(2);
      expect(command.stderr).toContain(`Did you mean ${sub}?`);
    },
  );

  it.each(NESTED)("the README's table names every subcommand of verl %s, or none", (name, own) => {
    const [, cell] = new RegExp(`^\\|[^|\n]*?\`verl ${name}((?: [a-z|\\\\]+)?)\``, "m").exec(readme) ?? [];
    const named = (cell ?? "").trim().split(/\\?\|/).filter(Boolean);
    if (named.length > 0) expect(named.sort()).toEqual([...own].sort());
  });

  it("an unknown command gets a suggestion", async () => {
    const { code, stderr } = await cli(["trian"]);
    expect(code).toBe(2);
    expect(stderr).toContain("Did you mean train?");
  });
});

it("the scaffolder's help names every flag that it takes, and no other", () => {
  const flags = [...HELP.matchAll(/--(\[no-\])?([a-z-]+)/g)].map(([, negated, name]) =>
    negated ? `no-${name}` : name!,
  );
  const values: Readonly<Record<string, string>> = { template: "tool", name: "x", key: "x", pm: "npm" };
  for (const flag of new Set(flags)) {
    const value = values[flag];
    expect(() => parseFlags([`--${flag}`, ...(value === undefined ? [] : [value])])).not.toThrow();
  }
});
