import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeEach, describe, expect, it, jest } from "@jest/globals";
import {
  definePlugin,
  freezeRegistries,
  loadedPlugins,
  loadPlugin,
  provide,
  registerPlugin,
  registries,
  type PluginDefinition,
} from "../../core/registry/index.ts";
import { packageName } from "../../core/registry/resolve-plugin.ts";
import { clearRegistries, estimator, failure } from "./helpers.ts";

const root = mkdtempSync(join(tmpdir(), "verl-plugins-"));
const configFile = join(root, "run.yaml");
afterAll(() => rmSync(root, { recursive: true }));
beforeEach(clearRegistries);

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

/** A package in the project's node_modules whose plugin provides one estimator under `key`. */
function install(name: string, key: string, exports: unknown = { ".": { default: "./index.js" } }): void {
  write(`node_modules/${name}/package.json`, JSON.stringify({ name, version: "1.0.0", type: "module", exports }));
  write(
    `node_modules/${name}/index.js`,
    `import { definePlugin, provide } from "verl";
     const entry = { description: "From ${name}.", compute: () => { throw new Error("never run"); } };
     export default definePlugin({ name: "${name}", version: "1.0.0", verl: "^0.1", provides: [provide("adv_estimator", "${key}", entry)] });`,
  );
}

const plugin = (more: Partial<PluginDefinition> = {}) =>
  definePlugin({ name: "verl-plugin-x", version: "1.0.0", verl: "^0.1", provides: [], ...more });

it.each([
  ["dapo", "verl-plugin-dapo"],
  ["verl-plugin-dapo", "verl-plugin-dapo"],
  ["@acme", "@acme/verl-plugin"],
  ["@acme/dapo", "@acme/verl-plugin-dapo"],
  ["@acme/verl-plugin", "@acme/verl-plugin"],
  ["@acme/verl-plugin-dapo", "@acme/verl-plugin-dapo"],
  ["@acme/tools/rl", "@acme/tools/rl"],
  ["tools/rl", "tools/rl"],
  ["module:dapo", "dapo"],
])("%s stands for the package %s", (specifier, name) => expect(packageName(specifier)).toBe(name));

describe("a plugin is found", () => {
  it.each([
    ["by its name", "verl-plugin-dapo", "verl-plugin-dapo"],
    ["by its short name", "dapo", "verl-plugin-dapo"],
    ["in a scope", "@acme/dapo", "@acme/verl-plugin-dapo"],
    ["as a scope's own", "@acme", "@acme/verl-plugin"],
    ["by an exact name", "module:plain", "plain"],
  ])("%s", async (_, specifier, name) => {
    install(name, "mine");
    await loadPlugin(specifier, { configFile });
    expect(registries.adv_estimator.find("mine").source).toBe(`${name}@1.0.0`);
  });

  it("when its exports know `import` alone", async () => {
    install("verl-plugin-import-only", "mine", { ".": { import: "./index.js" } });
    await loadPlugin("import-only", { configFile });
    expect(registries.adv_estimator.has("mine")).toBe(true);
  });

  it("as a TypeScript file beside the config, with decorators and imports of its own", async () => {
    write("words.ts", `export enum Word { Mine = "mine" }`);
    write(
      "parser.ts",
      `import { CONFIG, inject, ToolParser } from "verl";
       import { Word } from "./words.ts";
       @ToolParser.register(Word.Mine)
       export class Mine extends ToolParser {
         constructor(@inject(CONFIG) readonly config: unknown) { super(); }
         parse() { return { content: "", reasoning: "", calls: [], errors: [] }; }
         stream(): never { throw new Error("never run"); }
       }`,
    );
    const loaded = await loadPlugin("./parser.ts", { configFile });
    const url = pathToFileURL(join(root, "parser.ts")).href;
    expect(loaded).toEqual({ name: "./parser.ts", url, provides: [{ kind: "tool_parser", key: "mine" }] });
    expect(registries.tool_parser.find("mine").source).toBe("./parser.ts");
    expect(await loadPlugin("./parser.ts", { configFile })).toBe(loaded);
  });

  it.each([
    ["nope", "there is no package verl-plugin-nope", "Run `npm install verl-plugin-nope`"],
    ["./nope.ts", "does not exist", "start from the folder of the config file"],
    ["./parse", "does not exist", 'Did you mean "./parse.ts"?'],
    ["exact", "there is no package verl-plugin-exact", 'write "module:exact"'],
  ])("or not: %s", async (specifier, message, hint) => {
    write("parse.ts", "");
    install("exact", "mine");
    const location = { file: "run.yaml", line: 3, column: 5 };
    const error = await failure(() => loadPlugin(specifier, { configFile, location }));
    expect(error).toMatchObject({ code: "VERL_PLUGIN_NOT_FOUND", location: { ...location, path: "plugins" } });
    expect(error.message).toContain(message);
    expect(error.hint).toContain(hint);
  });
});

describe("checks", () => {
  it("point at the config that names the plugin, whichever fails", async () => {
    write(
      "late.js",
      `import { definePlugin } from "verl"; export default definePlugin({ name: "late", version: "1", verl: "^9", provides: [] });`,
    );
    const location = { file: "run.yaml", line: 3, column: 5, path: "plugins.0" };
    const error = await failure(() => loadPlugin("./late.js", { configFile, location }));
    expect(error).toMatchObject({ code: "VERL_PLUGIN_API_MISMATCH", location: { ...location, plugin: "late" } });
  });

  it("an import that throws: names the plugin and keeps the cause", async () => {
    write("throws.js", `throw new TypeError("no GPU here");`);
    const error = await failure(() => loadPlugin("./throws.js", { configFile }));
    expect(error.code).toBe("VERL_PLUGIN_IMPORT");
    expect(error.message).toBe('The plugin "./throws.js" could not be imported: no GPU here');
    expect((error.cause as Error).name).toBe("TypeError");
    expect(error.hint).toBe("Mend the file; it must load by itself.");
  });

  it.each([
    ["needs.js", "no-such-package"],
    ["scoped.js", "@no/such-package"],
  ])("an import of a package that is not installed: %s", async (file, name) => {
    write(file, `import ${JSON.stringify(name)};`);
    const error = await failure(() => loadPlugin(`./${file}`, { configFile }));
    expect(error.code).toBe("VERL_PLUGIN_IMPORT");
    expect(error.hint).toBe(`Run \`npm install ${name}\` in the folder of ./${file}.`);
  });

  it("a module that is no plugin", async () => {
    write("other.js", `export default { name: "x" };`);
    const error = await failure(() => loadPlugin("./other.js", { configFile }));
    expect(error.code).toBe("VERL_PLUGIN_EXPORT");
    expect(error.message).toContain("its default export is of type object");
  });

  it.each([
    ["^0.2", "Upgrade verl"],
    ["^0.0.1", "Upgrade the plugin"],
  ])("a plugin for verl %s: says which side to upgrade", async (verl, hint) => {
    const error = await failure(() => registerPlugin(plugin({ verl })));
    expect(error.code).toBe("VERL_PLUGIN_API_MISMATCH");
    expect(error.message).toBe(`verl-plugin-x is made for verl ${verl}, and this is verl 0.1.0.`);
    expect(error.hint).toContain(hint);
  });

  it.each<[object, string, string?]>([
    [{ verl: "latest" }, 'has `verl: "latest"`, which is not a range'],
    [{ verl: undefined }, "which is not a range"],
    [{ name: "" }, "has no `name`"],
    [{ version: 1 }, "has no `version`"],
    [{ provides: {} }, "has no array `provides`"],
    [{ provide: [] }, "has `provide`, which means nothing.", 'Did you mean "provides"? '],
    [{ provides: [null] }, "at 0, what `provide` did not make"],
    [
      { provides: [{ kind: "policy_los", key: "x", entry: {} }] },
      'of the kind "policy_los", which does not exist.',
      'Did you mean "policy_loss"? ',
    ],
  ])("a definition with %j", async (more, words, question = "") => {
    const error = await failure(() => registerPlugin(plugin(more)));
    expect(error.code).toBe("VERL_PLUGIN_META");
    expect(error.message).toContain(words);
    expect(error.hint).toContain(`${question}\`definePlugin\` takes`);
  });

  it("run in one order, whatever else is wrong", async () => {
    registries.adv_estimator.register("taken", estimator());
    const bad = { type: "array" } as never;
    const faults = [
      provide("adv_estimator", "x", { ...estimator(), description: "" }),
      provide("adv_estimator", "not a key", estimator()),
      provide("adv_estimator", "taken", estimator()),
      provide("adv_estimator", "y", estimator({ optionsSchema: bad })),
    ];
    const codes = [];
    for (let from = 0; from < faults.length; from++) {
      codes.push((await failure(() => registerPlugin(plugin({ provides: faults.slice(from).reverse() })))).code);
    }
    expect(codes).toEqual([
      "VERL_ENTRY_META_INVALID",
      "VERL_REGISTRY_KEY_INVALID",
      "VERL_REGISTRY_KEY_TAKEN",
      "VERL_ENTRY_SCHEMA_INVALID",
    ]);
  });

  it("leave no trace of a plugin that fails one", async () => {
    const provides = [
      provide("adv_estimator", "good", estimator()),
      provide("adv_estimator", "not a key", estimator()),
    ];
    await failure(() => registerPlugin(plugin({ provides })));
    expect(registries.adv_estimator.keys()).toEqual([]);
    expect(loadedPlugins()).toEqual([]);
  });

  it("a key that is provided twice", async () => {
    const provides = [
      provide("adv_estimator", "a", estimator()),
      provide("adv_estimator", "b", estimator({ aliases: ["a"] })),
    ];
    expect((await failure(() => registerPlugin(plugin({ provides })))).message).toContain(
      'provides "adv_estimator/a" twice',
    );
  });
});

it("does nothing the second time, run under way or not", () => {
  const entry = estimator();
  const own = () => plugin({ provides: [provide("adv_estimator", "mine", entry)] });
  const loaded = registerPlugin(own());
  const thaw = freezeRegistries("run");
  expect(registerPlugin(own())).toBe(loaded);
  thaw();
  expect(loadedPlugins()).toEqual([
    { name: "verl-plugin-x", version: "1.0.0", provides: [{ kind: "adv_estimator", key: "mine" }] },
  ]);
});

it("overrides an entry of another plugin when told to", () => {
  const written = jest.spyOn(process.stderr, "write").mockReturnValue(true);
  registries.adv_estimator.register("mine", estimator(), { source: "a" });
  registerPlugin(plugin({ provides: [provide("adv_estimator", "mine", estimator(), { override: true })] }));
  expect(registries.adv_estimator.find("mine")).toMatchObject({ source: "verl-plugin-x@1.0.0", overrides: "a" });
  expect(written).toHaveBeenCalledTimes(1);
  written.mockRestore();
});
