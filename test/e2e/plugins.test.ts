import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
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

it("says what does not parse in a TypeScript plugin", () => {
  writeFileSync(join(project, "bad.ts"), "export const x: number = ;");
  const { status, stdout, stderr } = verl("list", "--plugin", "./bad.ts");
  expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
  expect(stderr).toContain("VERL_PLUGIN_IMPORT  --plugin ./bad.ts\n");
  expect(stderr).toContain("bad.ts:1:25");
});

it("ends quietly when its reader has seen enough", () => {
  const line = execFileSync("sh", ["-c", `"${process.execPath}" "${bin}" list | head -n 1`], { encoding: "utf8" });
  expect(line).toMatch(/^adv_estimator \(/);
});
