import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";

const run = promisify(execFile);
const root = resolve(import.meta.dirname, "../..");

interface Pack {
  filename: string;
  files: { path: string }[];
}

/** What a user does first: pack, install in an empty project, import. */
describe("the packed package", () => {
  let project: string;
  let pack: Pack;

  beforeAll(async () => {
    project = await mkdtemp(join(tmpdir(), "verl-dist-"));
    const { stdout } = await run("npm", ["pack", "--json", "--pack-destination", project], { cwd: root });
    // npm 11 and 12 print a list or a record of packages.
    const printed = JSON.parse(stdout) as Pack[] | Record<string, Pack>;
    pack = Object.values(printed)[0]!;
    await writeFile(
      join(project, "package.json"),
      JSON.stringify({ name: "user", private: true, type: "module", allowScripts: { "onnxruntime-node": false } }),
    );
    await writeFile(join(project, ".npmrc"), "onnxruntime-node-install=skip\n");
    await run(
      "npm",
      [
        "install",
        "--no-audit",
        "--no-fund",
        "--prefer-offline",
        join(project, pack.filename),
        "@tensorflow/tfjs@4.22.0",
      ],
      { cwd: project },
    );
  }, 300_000);

  afterAll(() => rm(project, { recursive: true, force: true }));

  const node = (...args: string[]) => run(process.execPath, args, { cwd: project });

  it("holds only the built files, the licence and the readme", () => {
    const outside = pack.files.map((file) => file.path).filter((path) => !path.startsWith("dist/"));
    expect(outside.sort()).toEqual(["LICENSE", "README.md", "package.json"]);
  });

  it.each([
    ["import", "import * as verl from 'verl'; console.log(typeof verl.definePlugin)"],
    [
      "import the built-ins",
      "import plugin from 'verl/plugins'; console.log(typeof plugin === 'object' ? 'function' : '')",
    ],
    [
      "require",
      "import { createRequire } from 'node:module'; console.log(typeof createRequire(import.meta.url)('verl').definePlugin)",
    ],
  ])("can be used by %s, with an empty stderr", async (_how, source) => {
    const { stdout, stderr } = await node("--input-type=module", "-e", source);
    expect({ stdout: stdout.trim(), stderr }).toEqual({ stdout: "function", stderr: "" });
  });

  it("declares every type that its declarations use", async () => {
    const types = ["index", "plugins", "testing"].map((name) => `node_modules/verl/dist/${name}.d.ts`);
    const options = "--noEmit --strict --skipLibCheck false --target es2022 --module nodenext --types node --typeRoots";
    const tsc = join(root, "node_modules/.bin/tsc");
    const roots = join(root, "node_modules/@types");
    // Other packages' declarations have faults, so that it fails in any case.
    const failed = await run(tsc, [...options.split(" "), roots, ...types], { cwd: project }).catch(
      (error: unknown) => error,
    );
    const lines = (failed as { stdout: string }).stdout.split("\n");
    expect(lines.filter((line) => /^(node_modules\/verl\/|error )/.test(line))).toEqual([]);
  }, 300_000);

  it("has an API reference of which no link and no type is missing", async () => {
    const typedoc = join(root, "node_modules/.bin/typedoc");
    const { stdout, stderr } = await run(typedoc, ["--emit", "none", "--disableSources"], { cwd: root });
    expect(stdout + stderr).toBe("");
  }, 300_000);

  it("closes its internals", async () => {
    await expect(node("--input-type=module", "-e", "await import('verl/dist/index.js')")).rejects.toThrow(
      "ERR_PACKAGE_PATH_NOT_EXPORTED",
    );
  });

  it("ships the schema and the command line", async () => {
    const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { version: string };
    const { stdout } = await run(join(project, "node_modules/.bin/verl"), ["--version"], { cwd: project });
    expect(stdout.trim()).toBe(version);
    const list = await run(join(project, "node_modules/.bin/verl"), ["list", "--json"], { cwd: project });
    expect(list.stderr).toBe("");
    const schema = await node(
      "--input-type=module",
      "-e",
      "import { createRequire } from 'node:module'; console.log(createRequire(import.meta.url)('verl/schema.json').$schema)",
    );
    expect(schema.stdout).toContain("draft-07");
  });
});
