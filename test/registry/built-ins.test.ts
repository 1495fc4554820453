import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, it } from "@jest/globals";
import { KIND_NAMES, loadPlugins, registries, VERSION, type Registration } from "../../core/registry/index.ts";
import { BUILT_IN_PLUGIN } from "../../core/registry/load-plugin.ts";

beforeAll(async () => {
  await loadPlugins([]);
});

const all = (): Registration[] => KIND_NAMES.flatMap((kind): Registration[] => registries[kind].registrations());

it("pass every check that a plugin of anyone passes", async () => {
  expect(BUILT_IN_PLUGIN).toBe("verl/plugins");
  const [plugin] = await loadPlugins([]);
  expect(plugin).toMatchObject({ name: "verl", version: VERSION });
  expect(all()).toHaveLength(plugin!.provides.length);
  expect(plugin!.provides.length).toBeGreaterThan(15);
});

it("describe themselves in a sentence, and every option and metric too", () => {
  for (const { kind, key, entry } of all()) {
    const texts = [entry.description, ...(entry.departures ?? []), ...Object.values(entry.metrics ?? {})];
    const options = Object.values(entry.optionsSchema?.properties ?? {}) as { description: string }[];
    for (const text of [...texts, ...options.map(({ description }) => description)]) {
      expect([kind, key, text]).toEqual([kind, key, expect.stringMatching(/^\S.*[.)]$/s)]);
    }
  }
});

it("have keys in the spelling of verl: no capitals but in dispatch and execute modes", () => {
  const capitals = ["dispatch", "execute"];
  const odd = all().filter(
    ({ kind, key }) => !(capitals.includes(kind) ? /^[A-Z0-9_]+$/ : /^[a-z0-9_.+-]+$/).test(key),
  );
  expect(odd).toEqual([]);
});

it("carry the version of package.json", () => {
  const manifest = readFileSync(join(import.meta.dirname, "../../package.json"), "utf8");
  expect((JSON.parse(manifest) as { version: string }).version).toBe(VERSION);
});
