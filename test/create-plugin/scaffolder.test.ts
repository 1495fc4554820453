import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "@jest/globals";
import * as prettier from "prettier";
import { isKey } from "../../core/registry/key.ts";
import { settle, type Questions } from "../../templates/src/choices.ts";
import { HELP, LIST, parseFlags } from "../../templates/src/flags.ts";
import { main } from "../../templates/src/main.ts";
import { defaultKey, defaultPackage, packageFault, specifierOf } from "../../templates/src/names.ts";
import { callingManager, runScript } from "../../templates/src/package-manager.ts";
import { projectFiles } from "../../templates/src/project-files.ts";
import { TEMPLATE_NAMES } from "../../templates/src/templates.ts";
import type { Terminal } from "../../templates/src/terminal.ts";
import { writeProject } from "../../templates/src/write-project.ts";
import { root } from "../docs/blocks.ts";

const work = mkdtempSync(join(tmpdir(), "verl-scaffolder-"));
afterAll(() => rmSync(work, { recursive: true }));

async function create(argv: readonly string[], given: Partial<Terminal> = {}) {
  const [out, err]: [string[], string[]] = [[], []];
  const terminal: Terminal = {
    print: (text) => void out.push(text),
    note: (text) => void err.push(text),
    cwd: work,
    env: {},
    interactive: false,
    ...given,
  };
  const code = await main(argv, terminal);
  return { code, stdout: out.join("\n"), stderr: err.join("\n") };
}

const QUIET = ["--no-install", "--no-git"];
const left = (): string[] => readdirSync(work).filter((name) => name.startsWith(".create-verl-plugin"));

describe("the command line", () => {
  it("prints help, templates and version, and writes nothing", async () => {
    expect(await create(["--help"])).toEqual({ code: 0, stdout: HELP, stderr: "" });
    expect(await create(["--list"])).toEqual({ code: 0, stdout: LIST, stderr: "" });
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
    expect((await create(["-v"])).stdout).toBe(version);
  });

  it.each([
    [["x", "--tempalte", "tool"], 'There is no flag --tempalte. Did you mean "--template"?'],
    [["x", "-t", "tol"], '--template is "tol". Did you mean "tool"'],
    [["x", "-t", "tool", "--pm", "npn"], 'Did you mean "npm"'],
    [["x", "-t", "tool", "--no-yes"], "There is no flag --no-yes."],
    [["x", "-t"], "-t needs a value"],
    [["x", "--yes=1"], "--yes takes no value"],
    [["x", "y", "-t", "tool"], '"y" is left over'],
    [["x", "-t", "tool", "--name", "My Plugin"], '"my-plugin" would be one'],
    [["x", "-t", "tool", "--key", "no key"], '"no key" is no registry key'],
    [["x"], "has to name a template"],
    [[], "has to name a directory and a template"],
  ])("%j is wrong usage: exit code 2, and what to write instead", async (argv, words) => {
    const { code, stdout, stderr } = await create(argv);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(words);
    expect(existsSync(join(work, "x"))).toBe(false);
  });

  it("takes flags behind the bare -- that npm hands on", () => {
    expect(parseFlags(["x", "--", "-t", "tool", "--no-git"])).toMatchObject({
      directory: "x",
      template: "tool",
      git: false,
    });
  });

  it("lists the files of a dry run and writes none of them", async () => {
    const { code, stdout } = await create(["dry", "-t", "tool", "--dry-run"]);
    expect(code).toBe(0);
    expect(stdout.split("\n")).toContain("src/tool.ts");
    expect(existsSync(join(work, "dry"))).toBe(false);
  });
});

describe("questions", () => {
  const asked: string[] = [];
  const answer =
    <T>(name: string, value: T) =>
    (): Promise<T> => {
      asked.push(name);
      return Promise.resolve(value);
    };
  const questions: Questions = {
    directory: answer("directory", "here"),
    template: answer("template", "tool" as const),
    name: (suggested) => answer("name", suggested)(),
    key: (suggested) => answer("key", suggested)(),
    install: answer("install", false),
    git: answer("git", true),
  };
  const terminal: Terminal = { print: () => {}, note: () => {}, cwd: work, env: {}, interactive: true };

  it("are asked only about what the flags leave open", async () => {
    const flags = parseFlags(["-t", "policy-loss", "--key", "mine", "--no-git"]);
    const choices = await settle(flags, terminal, questions);
    expect(asked).toEqual(["directory", "name", "install"]);
    expect(choices).toEqual({
      directory: "here",
      template: "policy-loss",
      name: "verl-plugin-here",
      key: "mine",
      pm: "npm",
      install: false,
      git: false,
    });
  });

  it("are not asked where nobody can answer", async () => {
    const choices = await settle(parseFlags(["there", "--yes"]), terminal);
    expect(choices).toMatchObject({ template: "policy-loss", name: "verl-plugin-there", key: "there", install: true });
  });
});

describe("names", () => {
  it.each([
    ["my loss", "verl-plugin-my-loss", "my_loss"],
    ["verl-plugin-x", "verl-plugin-x", "x"],
    ["./a/B_c", "verl-plugin-b-c", "b_c"],
    ["日本", "verl-plugin", "mine"],
  ])("of the folder %s", (directory, name, key) => {
    expect(defaultPackage(directory, work)).toBe(name);
    expect(packageFault(name)).toBeUndefined();
    expect(defaultKey(name)).toBe(key);
    expect(isKey(key)).toBe(true);
  });

  it("of a scope, and of a package without the prefix", () => {
    expect(defaultKey("@acme/verl-plugin")).toBe("acme");
    expect(specifierOf("@acme/verl-plugin-x")).toBe("@acme/verl-plugin-x");
    expect(specifierOf("dapper")).toBe("module:dapper");
  });

  it("of the package manager that calls", () => {
    expect(callingManager("pnpm/9.1.0 npm/? node/v20")).toBe("pnpm");
    expect(callingManager(undefined)).toBe("npm");
    expect([runScript("npm", "try"), runScript("yarn", "try"), runScript("bun", "test")]).toEqual([
      "npm run try",
      "yarn try",
      "bun test",
    ]);
  });
});

describe.each(TEMPLATE_NAMES)("the template %s", (template) => {
  const choices = { directory: "x", template, pm: "npm", install: false, git: false } as const;

  it.each([
    ["verl-plugin-x", "x"],
    ["@some-company/verl-plugin-with-a-longer-name", "some_company:a_longer_key_than_most"],
  ])("is filled in and formatted, as the package %s", async (name, key) => {
    const files = projectFiles({ ...choices, name, key });
    for (const [path, text] of files) {
      if (!path.startsWith("examples/"))
        expect({ path, left: /__[a-z_]+__/.exec(text)?.[0] }).toEqual({ path, left: undefined });
      if (!/\.(ts|js|mjs|json|yaml|yml)$/.test(path)) continue;
      const options = { filepath: path, printWidth: 120 };
      expect({ path, formatted: await prettier.check(text, options) }).toEqual({ path, formatted: true });
    }
    expect(JSON.parse(files.get("package.json")!)).toMatchObject({ name, verl: { api: "^0.1" } });
  });
});

describe("writing", () => {
  const FILES = new Map([
    ["a.txt", "new"],
    ["deep/b.txt", "b"],
  ]);

  it("makes the folder, with its parents, and leaves nothing else", async () => {
    const { code, stdout } = await create(["new/one", "-t", "minimal-js", ...QUIET]);
    expect(code).toBe(0);
    expect(stdout).toContain("cd new/one");
    expect(statSync(join(work, "new/one")).mode & 0o777).toBe(0o777 & ~process.umask());
    expect(existsSync(join(work, "new/one/.gitignore"))).toBe(true);
    expect(readdirSync(join(work, "new"))).toEqual(["one"]);
  });

  it("refuses a folder with files, and with --overwrite replaces those of the same name alone", async () => {
    mkdirSync(join(work, "full"));
    writeFileSync(join(work, "full/README.md"), "mine");
    writeFileSync(join(work, "full/notes.txt"), "mine");
    const refused = await create(["full", "-t", "tool", ...QUIET]);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain("is not empty (README.md, notes.txt)");
    expect(readdirSync(join(work, "full"))).toEqual(["README.md", "notes.txt"]);
    expect((await create(["full", "-t", "tool", "--overwrite", ...QUIET])).code).toBe(0);
    expect(readFileSync(join(work, "full/notes.txt"), "utf8")).toBe("mine");
    expect(readFileSync(join(work, "full/README.md"), "utf8")).toContain("verl-plugin-full");
    expect(left()).toEqual([]);
  });

  it("leaves nothing behind when it fails", async () => {
    mkdirSync(join(work, "half/deep"), { recursive: true });
    const bad = new Map([...FILES, ["a.txt/c.txt", "c"]]);
    await expect(writeProject(join(work, "half"), bad)).rejects.toThrow();
    expect(existsSync(join(work, "half/a.txt"))).toBe(false);
    expect(left()).toEqual([]);
  });
});
