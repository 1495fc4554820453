import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import ts from "typescript";
import { projectFiles } from "../../templates/src/project-files.ts";
import { TEMPLATE_NAMES } from "../../templates/src/templates.ts";
import { blocksIn, root } from "./blocks.ts";

const project = mkdtempSync(join(tmpdir(), "verl-readmes-"));
beforeAll(() => {
  mkdirSync(join(project, "node_modules/@tensorflow"), { recursive: true });
  symlinkSync(root, join(project, "node_modules/verl"));
  symlinkSync(join(root, "node_modules/@tensorflow/tfjs"), join(project, "node_modules/@tensorflow/tfjs"));
});
afterAll(() => rmSync(project, { recursive: true, force: true }));

type Files = ReadonlyMap<string, string>;

interface Manifest {
  readonly name: string;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

/** What the scaffolder makes of a template, and the packages in examples/plugins that it began. */
const PACKAGES: [string, Files][] = [
  ...TEMPLATE_NAMES.map((template): [string, Files] => {
    const choices = { directory: "x", pm: "npm", install: false, git: false } as const;
    return [
      `the template ${template}`,
      projectFiles({ ...choices, template, name: `verl-plugin-${template}`, key: "mine" }),
    ];
  }),
  ...readdirSync(join(root, "examples/plugins"), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }): [string, Files] => [`examples/plugins/${name}`, filesOf(join(root, "examples/plugins", name))]),
];

function filesOf(folder: string): Files {
  const paths = ["package.json", "README.md", ...readdirSync(join(folder, "src")).map((name) => `src/${name}`)];
  return new Map(paths.map((path) => [path, readFileSync(join(folder, path), "utf8")]));
}

/** Puts a package where its readers would have it, with its sources compiled. */
function install({ name }: Manifest, files: Files): void {
  for (const [path, text] of files) {
    const [, module] = /^src\/(.+)\.ts$/.exec(path) ?? [];
    const file = join(project, "node_modules", name, module === undefined ? path : `dist/${module}.js`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, module === undefined ? text : compiled(text));
  }
}

const compiled = (text: string): string =>
  ts.transpileModule(text, {
    compilerOptions: {
      experimentalDecorators: true,
      module: ts.ModuleKind.ESNext,
      target: ts.ScriptTarget.ES2022,
    },
  }).outputText;

/** What a config has beside the block. */
const REST = [
  "data.train_files=train.parquet",
  "data.val_files=val.parquet",
  `actor_rollout_ref.model.path=${join(root, "examples/sort-letters/model")}`,
  "actor_rollout_ref.rollout.n=8",
];

/** Writes the files that the block names, with what it says behind them that they hold. */
function writeNamedFiles(block: string): void {
  for (const [, path, text] of block.matchAll(/_config_path: (\S+) # (.+)/g)) {
    mkdirSync(dirname(join(project, path!)), { recursive: true });
    writeFileSync(join(project, path!), text!);
  }
}

describe.each(PACKAGES)("the README of %s", (_, files) => {
  const manifest = JSON.parse(files.get("package.json")!) as Manifest;
  const blocks = blocksIn("README.md", files.get("README.md")!);
  beforeAll(() => install(manifest, files));

  it("has a block to install it, and a config", () => {
    expect(blocks.map(({ language }) => language)).toEqual(["sh", "yaml"]);
  });

  it("installs the package with all its peers", () => {
    const [program, action, name, ...others] = blocks[0]!.text.split(" ");
    expect([program, action, name]).toEqual(["npm", "install", manifest.name]);
    expect(others.sort()).toEqual(Object.keys(manifest.peerDependencies).sort());
  });

  it("has a config that a run would take, where the package is installed", () => {
    writeFileSync(join(project, "run.yaml"), blocks[1]!.text);
    writeNamedFiles(blocks[1]!.text);
    const argv = [join(root, "dist/bin.js"), "config", "validate", "run.yaml", ...REST];
    const { status, stderr } = spawnSync(process.execPath, argv, { cwd: project, encoding: "utf8" });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  });
});
