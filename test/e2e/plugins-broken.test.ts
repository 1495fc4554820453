import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";

const root = join(import.meta.dirname, "../..");
const project = realpathSync(mkdtempSync(join(tmpdir(), "verl-broken-")));

beforeAll(() => {
  mkdirSync(join(project, "node_modules"));
  symlinkSync(root, join(project, "node_modules/verl"));
});
afterAll(() => rmSync(project, { recursive: true }));

/** Installs a package of one module. */
function install(name: string, source: string, more: object = {}): string {
  const folder = join(project, "node_modules", name);
  mkdirSync(folder, { recursive: true });
  const manifest = {
    name,
    version: "1.0.0",
    type: "module",
    exports: "./index.js",
    keywords: ["verl-plugin"],
    ...more,
  };
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  writeFileSync(join(folder, "index.js"), source);
  return folder;
}

/** A module that exports a plugin of one loss aggregation mode. */
const plugin = (name: string, { verl = "^0.1", key = "total", entry = "" } = {}): string =>
  `import { definePlugin, provide } from "verl";
   const total = { description: "The sum.", aggregate: (losses) => losses.sum(), ${entry} };
   export default definePlugin({ name: "${name}", version: "1.0.0", verl: "${verl}", provides: [provide("loss_agg", "${key}", total)] });`;

/** A command that loads the plugins of a config. @returns its exit code, and what it says in lines without their indent */
function verl(command: readonly string[], plugins: readonly string[]) {
  writeFileSync(join(project, "run.yaml"), `plugins:\n${plugins.map((name) => `  - ${name}\n`).join("")}`);
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, "dist/bin.js"), ...command], {
    cwd: project,
    encoding: "utf8",
    env: { ...process.env, NO_COLOR: "1" },
  });
  return {
    status,
    stdout,
    lines: stderr
      .trimEnd()
      .split("\n")
      .map((line) => line.trim()),
  };
}

/** What a copy of a library that a package brings is made of, as far as anything looks at it. */
function ownCopy(folder: string, library: string): string {
  const copy = join(folder, "node_modules", library);
  mkdirSync(copy, { recursive: true });
  cpSync(join(root, "node_modules", library, "package.json"), join(copy, "package.json"));
  return copy;
}

interface Broken {
  /** Names of the packages in the config; the last one is at fault. */
  readonly plugins: readonly string[];
  readonly make: () => void;
  readonly code: string;
  readonly message: RegExp;
  readonly fix: RegExp;
}

const BROKEN: Readonly<Record<string, Broken>> = {
  "two plugins that register the same key": {
    plugins: ["verl-plugin-one", "verl-plugin-two"],
    make() {
      install("verl-plugin-one", plugin("verl-plugin-one"));
      install("verl-plugin-two", plugin("verl-plugin-two"));
    },
    code: "VERL_REGISTRY_KEY_TAKEN",
    message:
      /^verl-plugin-two@1\.0\.0 registers the loss aggregation mode "total", which verl-plugin-one@1\.0\.0 has registered already\.$/,
    fix: /override: true/,
  },
  "a plugin of a newer version of verl": {
    plugins: ["verl-plugin-newer"],
    make: () => void install("verl-plugin-newer", plugin("verl-plugin-newer", { verl: "^9.1" })),
    code: "VERL_PLUGIN_API_MISMATCH",
    message: /^verl-plugin-newer is made for verl \^9\.1, and this is verl \d+\.\d+\.\d+\.$/,
    fix: /Upgrade verl: `npm install verl@"\^9\.1"`/,
  },
  "a plugin of an older version of verl": {
    plugins: ["verl-plugin-older"],
    make: () => void install("verl-plugin-older", plugin("verl-plugin-older", { verl: "~0.0.3" })),
    code: "VERL_PLUGIN_API_MISMATCH",
    message: /^verl-plugin-older is made for verl ~0\.0\.3, and this is verl/,
    fix: /Upgrade the plugin: `npm install verl-plugin-older@latest`/,
  },
  "a schema that is none": {
    plugins: ["verl-plugin-schema"],
    make() {
      const entry = `optionsSchema: { type: "object", additionalProperties: false, properties: { scale: { type: "nubmer", default: 1, description: "Factor." } } }`;
      install("verl-plugin-schema", plugin("verl-plugin-schema", { key: "scaled", entry }));
    },
    code: "VERL_ENTRY_SCHEMA_INVALID",
    message: /options schema of the loss aggregation mode "scaled" of verl-plugin-schema@1\.0\.0 is not valid: .*scale/,
    fix: /author of verl-plugin-schema/,
  },
  "an import that throws": {
    plugins: ["verl-plugin-throws"],
    make: () => void install("verl-plugin-throws", `throw new Error("no key in the environment");`),
    code: "VERL_PLUGIN_IMPORT",
    message: /^The plugin "verl-plugin-throws" could not be imported: no key in the environment$/,
    fix: /ask the author of verl-plugin-throws/,
  },
  "an import of a package that is not installed": {
    plugins: ["verl-plugin-lacks"],
    make: () => void install("verl-plugin-lacks", `import "some-library";`),
    code: "VERL_PLUGIN_IMPORT",
    message: /^The plugin "verl-plugin-lacks" could not be imported: Cannot find package 'some-library'/,
    fix: /Run `npm install some-library` in the folder of verl-plugin-lacks\./,
  },
  "an own copy of tsyringe": {
    plugins: ["verl-plugin-injects"],
    make() {
      const more = { dependencies: { tsyringe: "^4.10.0" } };
      ownCopy(install("verl-plugin-injects", plugin("verl-plugin-injects"), more), "tsyringe");
    },
    code: "VERL_PLUGIN_OWN_COPY",
    message:
      /^verl-plugin-injects brings its own copy of tsyringe, \d\S+ in \S+verl-plugin-injects\/node_modules\/tsyringe; verl uses/,
    fix: /author of verl-plugin-injects to mend: take `inject` and the tokens from "verl"/,
  },
  "an own copy of tfjs": {
    plugins: ["@acme/verl-plugin-tensors"],
    make() {
      const more = { dependencies: { "@tensorflow/tfjs": "^4.22.0" } };
      ownCopy(install("@acme/verl-plugin-tensors", plugin("@acme/verl-plugin-tensors"), more), "@tensorflow/tfjs");
    },
    code: "VERL_PLUGIN_OWN_COPY",
    message: /^@acme\/verl-plugin-tensors brings its own copy of @tensorflow\/tfjs, \d\S+ in \S+; verl uses \d\S+ in/,
    fix: /Run `npm dedupe`\. If that does not help, @acme\/verl-plugin-tensors has to name @tensorflow\/tfjs in `peerDependencies`/,
  },
};

describe.each(Object.entries(BROKEN))("%s", (_, { plugins, make, code, message, fix }) => {
  beforeAll(make);

  it.each([
    ["verl train", ["train", "run.yaml"]],
    ["verl list", ["list", "loss_agg", "-c", "run.yaml"]],
  ])("ends %s with exit code 2, and names the package, the line of the config and the fix", (_name, command) => {
    const { status, stdout, lines } = verl(
      command,
      plugins.map((name) => JSON.stringify(name)),
    );
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    const [head, what, ...hints] = lines;
    expect(head).toMatch(new RegExp(`^${code}  .*run\\.yaml:${1 + plugins.length}:\\d+`));
    expect(what).toMatch(message);
    expect(hints.join(" ")).toMatch(fix);
    // Where an import threw helps its author; of other faults the package and the words say all.
    const origin = code === "VERL_PLUGIN_IMPORT" ? [expect.stringMatching(/^Caused by: /)] : [];
    expect(lines.filter((line) => line.startsWith("Caused by: "))).toEqual(origin);
  });
});
