import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, jest } from "@jest/globals";
import { parse } from "yaml";
import { blocksOf, root, type Block } from "./blocks.ts";

// Commands of the pages train, each in a process of its own.
jest.setTimeout(300_000);

const bin = join(root, "dist/bin.js");
const project = mkdtempSync(join(tmpdir(), "verl-docs-"));
const ci = readFileSync(join(root, ".ci/run"), "utf8");
const scripts = (JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { scripts: object }).scripts;
const distTests = readdirSync(join(root, "test/dist"))
  .map((file) => readFileSync(join(root, "test/dist", file), "utf8"))
  .join("\n");

/** Every page of the repository, but for READMEs of plugins' packages: they name the package, and plugin-readmes.test.ts has it installed. */
const PAGES = execFileSync("git", ["ls-files", "*.md"], { cwd: root, encoding: "utf8" })
  .trimEnd()
  .split("\n")
  .filter((page) => !/^(examples\/plugins|templates\/projects)\/.+\//.test(page));

/** What makes a run short and small, whatever its page is about. */
const SHORT = [
  "trainer.total_training_steps=1",
  "trainer.val_before_train=false",
  "trainer.test_freq=-1",
  "data.train_batch_size=4",
  "actor_rollout_ref.actor.ppo_mini_batch_size=4",
  "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=8",
  "actor_rollout_ref.rollout.n=2",
];
const SHORT_SFT = ["trainer.total_training_steps=1"];

/** The reader's own model, as far as examples/data needs it: a tokenizer of the make of today's models. */
const WRITE_MODEL = `import { writeByteBpe } from "${join(root, "test/bench/support/byte-bpe.mjs")}";
  writeByteBpe("models/qwen3", ["examples/data/sums.jsonl"], 50);`;

/** A project as the pages assume it: the package, the examples, the files of the pages' own blocks, and a run file. */
beforeAll(() => {
  mkdirSync(join(project, "node_modules/@tensorflow"), { recursive: true });
  symlinkSync(root, join(project, "node_modules/verl"));
  symlinkSync(join(root, "node_modules/@tensorflow/tfjs"), join(project, "node_modules/@tensorflow/tfjs"));
  cpSync(join(root, "examples"), join(project, "examples"), { recursive: true });
  for (const block of PAGES.flatMap(blocksOf)) {
    const name = fileNameOf(block);
    if (name !== undefined) writeFileSync(join(project, name), block.text);
  }
  run(["node", "--input-type=module", "-e", WRITE_MODEL]);
  run(["node", "examples/sort-letters/make-data.mjs"]);
  run(["verl", "sft", "examples/sort-letters/sft.yaml", "trainer.total_training_steps=2"]);
  writeFileSync(
    join(project, "run.yaml"),
    "extends: examples/sort-letters/grpo.yaml\ntrainer: {default_local_dir: runs/docs}\n",
  );
});
afterAll(() => rmSync(project, { recursive: true, force: true }));

/** A block of source starts with its file's name in a comment. */
const fileNameOf = ({ text }: Block): string | undefined =>
  /^(?:\/\/|#) ([\w-]+\.(?:ts|mjs|js|yaml))\b/.exec(text)?.[1];

function run([program, ...args]: readonly string[]): string {
  const argv = program === "verl" ? [bin, ...args] : args;
  const { status, stdout, stderr } = spawnSync(process.execPath, argv, {
    cwd: project,
    encoding: "utf8",
    env: { ...process.env, NO_COLOR: "1", CI: "true" },
  });
  expect({ command: [program, ...args].join(" "), status, stderr: status === 0 ? "" : stderr }).toEqual({
    command: [program, ...args].join(" "),
    status: 0,
    stderr: "",
  });
  return stdout;
}

/** Runs one line of a shell block, or makes sure that CI or the tests of the packed packages do. */
function runLine(line: string): void {
  for (const command of line.split("&&").map((part) => part.trim())) {
    const words = command.replace(/^npx /, "").split(/\s+/);
    const [program, name = ""] = words;
    if (program === "npm" || program === "cd") checkElsewhere(command);
    else if (program === "verl" && name === "train") run([...words, ...SHORT]);
    else if (program === "verl" && name === "sft") run([...words, ...SHORT_SFT]);
    else if (program === "verl" || program === "node") run(words);
    else throw new Error(`No test runs \`${command}\`; add its program here.`);
  }
}

function checkElsewhere(command: string): void {
  if (command.startsWith("cd ")) return;
  const [, action = "", ...rest] = command.split(/\s+/);
  if (action === "install") return expect(distTests).toContain('"install"');
  if (action === "create") return expect(distTests).toContain(`npm create ${rest[0]}`);
  if (action === "ci") return expect(ci).toContain("npm ci");
  const script = action === "run" ? rest[0]! : action;
  // A script of this repository, or one of the projects that the scaffolder makes.
  const known = Object.hasOwn(scripts, script) ? ci.includes(`npm ${action === "run" ? "run " : ""}${script}`) : false;
  const words = `npm ${action === "run" ? "run " : ""}${script}`;
  if (!known && !distTests.includes(words) && !Object.hasOwn(scripts, script))
    throw new Error(`Nothing runs \`${command}\`.`);
}

const RUNNERS: Readonly<Record<string, (block: Block) => void>> = {
  sh({ text }) {
    for (const line of text.replaceAll("\\\n", " ").split("\n")) {
      const command = line.replace(/\s+#.*$/, "").trim();
      if (command !== "" && !command.startsWith("#")) runLine(command);
    }
  },
  ts: (block) => runSource(block),
  js: (block) => runSource(block),
  json: ({ text }) => void JSON.parse(text),
  yaml({ text }) {
    expect(parse(text)).toEqual(expect.any(Object));
  },
  /** Output, or a drawing. */
  ""({ text }) {
    const [code] = /^VERL_\w+/.exec(text) ?? [];
    if (code === undefined) return expect(text).toMatch(/[─▶│├└→]|\$ /);
    const override = /\S+=\S+/.exec(text)?.[0] ?? "";
    const { stderr } = spawnSync(process.execPath, [bin, "config", "validate", override], { encoding: "utf8" });
    for (const line of text.split("\n")) expect(stderr).toContain(line);
  },
};

/** Imports a block of source as verl does; a plugin is registered with all checks. */
function runSource(block: Block): void {
  const name = fileNameOf(block) ?? `block-${block.line}.ts`;
  writeFileSync(join(project, name), block.text);
  if (/export default definePlugin|\.register\(/.test(block.text))
    return void run(["verl", "list", "--plugin", `./${name}`]);
  const script = `const { importSource } = await import("verl"); await importSource(new URL(${JSON.stringify(`./${name}`)}, ${JSON.stringify(`file://${project}/`)}).href);`;
  run(["node", "--input-type=module", "-e", script]);
}

describe.each(PAGES)("%s", (page) => {
  const blocks = blocksOf(page);

  it("has no block in a language that no test runs", () => {
    expect(blocks.map(({ language }) => language).filter((language) => !(language in RUNNERS))).toEqual([]);
  });

  for (const block of blocks) {
    if (block.language in RUNNERS)
      it(`runs the ${block.language || "plain"} block at line ${block.line}`, () => RUNNERS[block.language]!(block));
  }
});
