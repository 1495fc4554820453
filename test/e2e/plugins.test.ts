import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "@jest/globals";

const root = join(import.meta.dirname, "../..");
const bin = join(root, "dist/bin.js");
const project = mkdtempSync(join(tmpdir(), "verl-project-"));

/** A project without package.json and tsconfig, as a folder with a run file and a plugin beside it is. */
beforeAll(() => {
  mkdirSync(join(project, "node_modules"));
  symlinkSync(root, join(project, "node_modules/verl"));
  writeFileSync(join(project, "word.ts"), `export enum Word { Mine = "mine" }`);
  writeFileSync(
    join(project, "parser.ts"),
    `import { CONFIG, inject, ToolParser, type ParsedAnswer } from "verl";
     import { Word } from "./word.ts";
     @ToolParser.register(Word.Mine, { description: "From TypeScript." })
     export class Mine extends ToolParser {
       constructor(@inject(CONFIG) readonly config: unknown) { super(); }
       parse(): ParsedAnswer { return { content: "", reasoning: "", calls: [], errors: [] }; }
       stream(): never { throw new Error("never run"); }
     }`,
  );
  writeFileSync(join(project, "run.yaml"), "plugins:\n  - ./parser.ts\n");
});
afterAll(() => rmSync(project, { recursive: true }));

const verl = (...argv: string[]) =>
  spawnSync(process.execPath, [bin, ...argv], {
    cwd: project,
    encoding: "utf8",
    env: { ...process.env, NO_COLOR: "1" },
  });

it("loads a TypeScript plugin with injected parameters, without a build and into the same registries", () => {
  const { status, stdout, stderr } = verl("list", "tool_parser", "-c", "run.yaml", "--json");
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(JSON.parse(stdout)).toContainEqual(
    expect.objectContaining({ key: "mine", source: "./parser.ts", description: "From TypeScript." }),
  );
});

/** A package with its own copy of verl, and of the injection library, nested in its node_modules. */
function installWithOwnCopy(name: string): void {
  const folder = join(project, "node_modules", name);
  const copy = join(folder, "node_modules/verl");
  cpSync(join(root, "dist"), join(copy, "dist"), { recursive: true });
  cpSync(join(root, "package.json"), join(copy, "package.json"));
  mkdirSync(join(copy, "node_modules"));
  for (const dependency of readdirSync(join(root, "node_modules"))) {
    const [from, to] = [join(root, "node_modules", dependency), join(copy, "node_modules", dependency)];
    if (["reflect-metadata", "tslib", "tsyringe"].includes(dependency)) cpSync(from, to, { recursive: true });
    else symlinkSync(from, to);
  }
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({ name, version: "1.0.0", type: "module", main: "index.js" }),
  );
  writeFileSync(
    join(folder, "index.js"),
    `import { CONFIG, definePlugin, inject, provide, ToolParser } from "verl";
     export { ToolParser };
     class Own extends ToolParser { constructor(config) { super(); this.config = config; } stream() { throw new Error("never run"); } }
     inject(CONFIG)(Own, undefined, 0);
     const entry = { description: "From another copy.", create: Own };
     export default definePlugin({ name: "${name}", version: "1.0.0", verl: "^0.1", provides: [provide("tool_parser", "own", entry)] });`,
  );
}

it("takes a plugin that carries its own copy of the package: one store, one injection", () => {
  installWithOwnCopy("verl-plugin-own");
  const script = `
    import { CONFIG, createRunContainer, loadPlugin, registries, ToolParser } from "verl";
    import { ToolParser as Other } from "verl-plugin-own";
    await loadPlugin("own");
    const { config } = createRunContainer({ [CONFIG]: { seed: 7 } }).create("tool_parser", "own");
    console.log(JSON.stringify({ copies: Other !== ToolParser, keys: registries.tool_parser.keys(), config }));`;
  writeFileSync(join(project, "script.mjs"), script);
  const run = spawnSync(process.execPath, ["script.mjs"], { cwd: project, encoding: "utf8" });
  expect({ stderr: run.stderr, stdout: JSON.parse(run.stdout || "null") as unknown }).toEqual({
    stderr: "",
    stdout: { copies: true, keys: ["own"], config: { seed: 7 } },
  });
});

it.each(["ts", "mts", "mjs"])("loads a plugin from a folder where nothing is installed: .%s", (ending) => {
  const bare = mkdtempSync(join(tmpdir(), "verl-bare-"));
  const file = join(bare, `plugin.${ending}`);
  writeFileSync(
    file,
    `import { registerAdvEst } from "verl";
     import { testAdvEst } from "verl/testing";
     import * as tf from "@tensorflow/tfjs";
     registerAdvEst("bare", { description: \`From \${typeof testAdvEst} and \${typeof tf.add}.\`, compute: () => {} });`,
  );
  const { status, stdout, stderr } = verl("list", "adv_estimator", "--plugin", file, "--json");
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(JSON.parse(stdout)).toContainEqual(
    expect.objectContaining({ key: "bare", description: "From function and function." }),
  );
  rmSync(bare, { recursive: true });
});

it("says what does not parse in a TypeScript plugin", () => {
  writeFileSync(join(project, "bad.ts"), "export const x: number = ;");
  const { status, stdout, stderr } = verl("list", "--plugin", "./bad.ts");
  expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
  expect(stderr).toContain("VERL_PLUGIN_IMPORT  --plugin ./bad.ts\n");
  expect(stderr).toContain("bad.ts:1:25");
});

it("ends quietly when its reader has seen enough", () => {
  const line = execFileSync("sh", ["-c", `"${process.execPath}" "${bin}" list | head -n 1`], { encoding: "utf8" });
  expect(line).toMatch(/^adv_estimator \(/);
});
