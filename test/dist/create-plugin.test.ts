import { execFile, execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it, jest } from "@jest/globals";
import { publint } from "publint";
import { TEMPLATE_NAMES, TEMPLATES, type Template, type TemplateName } from "../../templates/src/templates.ts";
import { metricsOf } from "../trainer/support/read-run.ts";
import { pack, type Packed } from "./pack.ts";
import { serveRegistry, type LocalRegistry } from "./registry.ts";

// Each project is type-checked, linted, tested and trained as its author does it.
jest.setTimeout(600_000);

const root = resolve(import.meta.dirname, "../..");
const work = mkdtempSync(join(tmpdir(), "verl-create-"));
const run = promisify(execFile);
/** The project that a new user makes; the others share what it installed. */
const first = join(work, "my-loss");

/** Enough steps to see that it trains. */
const FEW = "trainer.total_training_steps=2 trainer.val_before_train=false trainer.test_freq=-1";

let sdk: Packed;
let scaffolder: Packed;
let registry: LocalRegistry;

const environment = (): NodeJS.ProcessEnv => ({
  ...process.env,
  CI: "true",
  npm_config_registry: registry.url,
  npm_config_prefer_offline: "true",
  npm_config_audit: "false",
  npm_config_fund: "false",
  npm_config_yes: "true",
});

interface Result {
  readonly output: string;
  /** Seconds of processor time, of the command and all that it started. */
  readonly cpu: number;
}

/** Runs a command line as a user types it. @throws with its output where it fails */
async function shell(command: string, cwd: string): Promise<Result> {
  try {
    const script = `(${command}) 2>&1; status=$?; times; exit $status`;
    const { stdout } = await run("bash", ["-c", script], { cwd, env: environment(), maxBuffer: 2 ** 26 });
    const lines = stdout.trimEnd().split("\n");
    return { output: lines.slice(0, -2).join("\n"), cpu: secondsOf(lines.at(-1)!) };
  } catch (error) {
    throw new Error(`${command} failed:\n${(error as { stdout?: string }).stdout?.slice(-6000) ?? String(error)}`);
  }
}

/** Of bash's `0m1.25s 0m0.50s`: user and system time of all children. */
const secondsOf = (line: string): number =>
  [...line.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
    (sum, [, minutes, seconds]) => sum + 60 * Number(minutes) + Number(seconds),
    0,
  );

beforeAll(async () => {
  [sdk, scaffolder] = await Promise.all([pack(root, work), pack(join(root, "templates"), work)]);
  const upstream = execFileSync("npm", ["config", "get", "registry"], { cwd: root, encoding: "utf8" }).trim();
  registry = await serveRegistry([sdk, scaffolder], upstream);
});
afterAll(async () => {
  await registry.close();
  rmSync(work, { recursive: true, force: true });
});

it("takes a new user from nothing to a trained loss in three commands and five minutes of machine time", async () => {
  const commands = [
    ["npm create verl-plugin@latest my-loss -- --template policy-loss --yes --no-git", work],
    ["npm run check && npm test", first],
    ["npm run try", first],
  ] as const;
  const results: Result[] = [];
  for (const [command, cwd] of commands) results.push(await shell(command, cwd));
  const seconds = results.map(({ cpu }) => cpu);
  process.stderr.write(`Machine time of the three commands: ${seconds.map((one) => one.toFixed(0)).join(" + ")} s.\n`);
  expect(seconds.reduce((sum, one) => sum + one, 0)).toBeLessThan(300);
  expect(seconds[2]).toBeLessThan(120);
  const rewards = metricsOf(join(first, "runs/try"))
    .map(({ data }) => data["critic/score/mean"])
    .filter((reward) => reward !== undefined);
  const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  expect(mean(rewards.slice(-5))).toBeGreaterThan(mean(rewards.slice(0, 5)) + 0.15);
});

/** A project from the packed scaffolder, with what the first one installed. */
async function generate(template: TemplateName): Promise<string> {
  const folder = join(work, `my-${template}`);
  const flags = `--template ${template} --no-install --no-git`;
  await shell(`npm create verl-plugin@latest my-${template} -- ${flags}`, work);
  symlinkSync(join(first, "node_modules"), join(folder, "node_modules"));
  return folder;
}

/** Data and warmed-up models are the same for all projects of an example: made once. */
const warm = new Map<string, string>();
async function warmUp(folder: string, template: TemplateName): Promise<void> {
  const { example } = TEMPLATES[template];
  const made = warm.get(example) ?? (example === "sort-letters" ? first : undefined);
  if (made === undefined) {
    await shell("npm run warm-up -- trainer.total_training_steps=10", folder);
    warm.set(example, folder);
    return;
  }
  cpSync(join(made, "runs", example), join(folder, "runs", example), { recursive: true });
  cpSync(join(made, "examples", example, "data"), join(folder, "examples", example, "data"), { recursive: true });
}

describe.each(TEMPLATE_NAMES)("a fresh project of the template %s", (template) => {
  let folder: string;
  beforeAll(async () => {
    folder = await generate(template);
  });

  it("passes its check and its tests untouched", async () => {
    const [, { output }] = await Promise.all([shell("npm run check", folder), shell("npm test", folder)]);
    expect(output).toMatch(/^# fail 0$/m);
    expect(output).not.toMatch(/^# pass 0$/m);
  });

  it("trains from its YAML", async () => {
    if (template === "policy-loss") return expect(existsSync(join(first, "runs/try/report.html"))).toBe(true);
    await warmUp(folder, template);
    const { prepare }: Template = TEMPLATES[template];
    if (prepare !== undefined) await shell(`node ${prepare}`, folder);
    if (TEMPLATES[template].preset) await shell("npm run build", folder);
    await shell(`npx verl train examples/run.yaml ${FEW}`, folder);
    expect(metricsOf(join(folder, "runs/try")).length).toBeGreaterThanOrEqual(2);
  });

  it("passes the kit from outside, and its package is what it says", async () => {
    const build = TEMPLATES[template].typescript ? shell("npm run build", folder) : undefined;
    const [{ output }] = await Promise.all([shell("npx verl plugin test", folder), build]);
    expect(output).toContain("✔ it describes itself in sentences");
    expect(output).not.toContain("✖");
    const { messages } = await publint({ pkgDir: folder, strict: true });
    expect(messages).toEqual([]);
    const { files } = await pack(folder, work);
    const expected = TEMPLATES[template].typescript ? /^dist\/[\w-]+\.(js|js\.map|d\.ts)$/ : /^index\.js$/;
    const others = files.filter((file) => !expected.test(file)).sort();
    const preset = TEMPLATES[template].preset ? ["preset.yaml"] : [];
    expect(others).toEqual(["LICENSE", "README.md", "package.json", ...preset]);
    expect(files.some((file) => expected.test(file))).toBe(true);
  });
});

describe.each([
  ["raft", "sort-letters"],
  ["one-call", "tool-calculator"],
] as const)("the example plugin %s", (name, example) => {
  it("passes its check and its tests, and trains", async () => {
    const folder = join(work, name);
    cpSync(join(root, "examples/plugins", name), folder, { recursive: true });
    cpSync(join(work, "my-tool-parser/examples/tool-calculator"), join(folder, "examples/tool-calculator"), {
      recursive: true,
    });
    cpSync(join(first, "examples/sort-letters"), join(folder, "examples/sort-letters"), { recursive: true });
    symlinkSync(join(first, "node_modules"), join(folder, "node_modules"));
    const [{ output }] = await Promise.all([shell("npm test", folder), shell("npm run check", folder)]);
    expect(output).toMatch(/^# fail 0$/m);
    expect((await shell("npx verl plugin test", folder)).output).not.toContain("✖");
    const made = example === "sort-letters" ? first : warm.get(example)!;
    cpSync(join(made, "runs", example), join(folder, "runs", example), { recursive: true });
    await shell(`npx verl train examples/run.yaml ${FEW}`, folder);
    expect(readFileSync(join(folder, "runs/try/metrics.jsonl"), "utf8")).toContain(
      name === "raft" ? "actor/raft_chosen" : "agent_loop/called_count",
    );
  });
});

describe("the packages themselves", () => {
  it("hold what they need and nothing else", () => {
    const outside = scaffolder.files.filter((file) => !/^(dist|projects)\//.test(file));
    expect(outside.sort()).toEqual(["README.md", "package.json"]);
    for (const file of [
      "dist/index.js",
      "dist/THIRD-PARTY-LICENSES.txt",
      "dist/examples/sort-letters/model/config.json",
    ])
      expect(scaffolder.files).toContain(file);
    // What npm would drop or read in a package is kept under another name.
    expect(scaffolder.files.filter((file) => /(^|\/)\.|node_modules/.test(file))).toEqual([]);
    expect(sdk.files.filter((file) => !/^dist\//.test(file)).sort()).toEqual(["LICENSE", "README.md", "package.json"]);
    for (const file of ["dist/bin.js", "dist/index.d.ts", "dist/ecosystem.json", "dist/schema.json"])
      expect(sdk.files).toContain(file);
    expect(
      sdk.files.filter((file) => /^dist\//.test(file) && !/\.(js|map|ts|json|yaml|css|html|py|LICENSE)$/.test(file)),
    ).toEqual([]);
  });

  it("need nothing else to run the scaffolder, which answers in little more machine time than node itself", () => {
    const manifest = JSON.parse(readFileSync(join(root, "templates/package.json"), "utf8")) as object;
    expect(manifest).not.toHaveProperty("dependencies");
    const least = (command: string): number => {
      const times = Array.from({ length: 3 }, () => {
        const { stdout } = spawnSync("bash", ["-c", `${command}; times`], { encoding: "utf8" });
        return secondsOf(stdout.trimEnd().split("\n").at(-1)!);
      });
      return Math.min(...times);
    };
    expect(least(`node "${root}/templates/dist/index.js" --version`)).toBeLessThan(2 * least('node -e ""') + 0.1);
  });

  it("pass publint and attw", async () => {
    for (const folder of [root, join(root, "templates")])
      expect((await publint({ pkgDir: folder, strict: true })).messages).toEqual([]);
    await shell(`"${root}/node_modules/.bin/attw" "${sdk.tarball}" --profile esm-only`, root);
  });
});
