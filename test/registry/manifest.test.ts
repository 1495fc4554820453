import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "@jest/globals";
import { howToGet, knownPackages, parseKnownPackages } from "../../core/registry/ecosystem.ts";
import { installedPlugins, loadPlugin, pluginManifest } from "../../core/registry/index.ts";
import { clearRegistries, failure } from "./helpers.ts";

const root = mkdtempSync(join(tmpdir(), "verl-manifest-"));
afterAll(() => rmSync(root, { recursive: true }));
beforeEach(clearRegistries);

function write(path: string, content: string | object): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), typeof content === "string" ? content : JSON.stringify(content));
}

const DAPO = {
  name: "verl-plugin-dapo",
  version: "1.2.0",
  verl: { api: "^0.1", source: "./src/index.ts", provides: { adv_estimator: ["dapo", 7], no_kind: ["x"] } },
};

write("package.json", {
  name: "project",
  dependencies: { "verl-plugin-dapo": "1", ordinary: "1", "not-installed": "1" },
  devDependencies: { "@acme/marked": "1" },
});
write("node_modules/verl-plugin-dapo/package.json", DAPO);
write("node_modules/ordinary/package.json", { name: "ordinary", version: "1.0.0" });
write("node_modules/@acme/marked/package.json", { name: "@acme/marked", keywords: ["verl-plugin"] });
write("node_modules/stray/package.json", { ...DAPO, name: "stray" });
write("broken/package.json", "{");

describe("a plugin's manifest", () => {
  it("is read from its package.json; what means nothing is left out", () => {
    expect(pluginManifest(join(root, "node_modules/verl-plugin-dapo"))).toMatchObject({
      name: "verl-plugin-dapo",
      version: "1.2.0",
      api: "^0.1",
      source: "./src/index.ts",
      provides: { adv_estimator: ["dapo"] },
    });
  });

  it.each(["node_modules/ordinary", "broken", "nowhere"])("is none in %s", (folder) => {
    expect(pluginManifest(join(root, folder))).toBeUndefined();
  });

  it("is found for what the project depends on, from any folder of it, and for nothing else", () => {
    mkdirSync(join(root, "deep/er"), { recursive: true });
    expect(installedPlugins(join(root, "deep/er")).map(({ name }) => name)).toEqual([
      "@acme/marked",
      "verl-plugin-dapo",
    ]);
  });
});

describe("a key that nothing has registered", () => {
  const published = parseKnownPackages(
    JSON.stringify([
      { package: "verl-plugin-dapper", description: "One.", provides: { adv_estimator: ["dapper", "dapo"] } },
    ]),
  );

  it("is explained by the installed package that provides it", () => {
    expect(howToGet("adv_estimator", "dapo", root, published)).toBe(
      "The package verl-plugin-dapo is installed and provides it: add `verl-plugin-dapo` to `plugins:`.",
    );
  });

  it("is explained by the published package that provides it", () => {
    expect(howToGet("adv_estimator", "dapper", root, published)).toBe(
      "The package verl-plugin-dapper provides it: run `npm install verl-plugin-dapper` and add `verl-plugin-dapper` to `plugins:`.",
    );
  });

  it("is not explained by a package of another kind", () => {
    expect(howToGet("policy_loss", "dapo", root, published)).toBeUndefined();
  });
});

it("the curated list is sorted, and says of each package what it does and provides", () => {
  const text = readFileSync(new URL("../../core/registry/ecosystem.json", import.meta.url), "utf8");
  const packages = knownPackages();
  expect(packages.map((entry) => entry.package)).toEqual(packages.map((entry) => entry.package).sort());
  expect(JSON.parse(text)).toEqual(packages);
  for (const { description } of packages) expect(description).toMatch(/\.$/);
});

describe("a plugin with a copy of its own", () => {
  const install = (name: string, field: string, copied: string): string => {
    const folder = `node_modules/${name}`;
    write(`${folder}/package.json`, { name, type: "module", exports: "./index.js", [field]: { [copied]: "*" } });
    write(`${folder}/index.js`, "throw new Error('never imported');");
    write(`${folder}/node_modules/${copied}/package.json`, { name: copied, version: "0.0.9" });
    return name;
  };
  const loading = (name: string) => failure(() => loadPlugin(name, { configFile: join(root, "run.yaml") }));

  it.each([
    ["@tensorflow/tfjs", "Run `npm dedupe`"],
    ["tsyringe", 'take `inject` and the tokens from "verl"'],
  ])("of %s is refused before it is imported, with both places and what to do", async (copied, remedy) => {
    const name = install(`verl-plugin-own-${copied.replace(/\W/g, "")}`, "dependencies", copied);
    const error = await loading(name);
    expect(error).toMatchObject({ code: "VERL_PLUGIN_OWN_COPY", location: { plugin: name } });
    expect(error.message).toContain(`${name} brings its own copy of ${copied}, 0.0.9 in `);
    expect(error.message).toContain("verl uses ");
    expect(error.hint).toContain(remedy);
  });

  it("is let through where its package does not ask for it: the copy is somebody else's", async () => {
    const name = install("verl-plugin-bystander", "engines", "tsyringe");
    expect((await loading(name)).code).toBe("VERL_PLUGIN_IMPORT");
  });
});
