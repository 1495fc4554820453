import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "@jest/globals";
import { KINDS, type Provided } from "../../core/registry/index.ts";
import plugin from "../../plugins/index.ts";
// @ts-expect-error -- a plain script without types
import { pluginsPage } from "../../scripts/docs/plugins.mjs";

const page = pluginsPage as (kinds: typeof KINDS, provides: readonly Provided[]) => string;

it("plugins/README.md says what the built-ins say; `npm run generate` writes it", () => {
  const written = readFileSync(join(import.meta.dirname, "../../plugins/README.md"), "utf8");
  expect(written).toBe(page(KINDS, plugin.provides));
});

it("the page has each key, option, metric and departure", () => {
  const text = page(KINDS, plugin.provides).replaceAll("\\|", "|");
  for (const { key, entry } of plugin.provides) {
    const { optionsSchema, metrics = {}, departures = [], description } = entry;
    const names = [key, ...Object.keys(optionsSchema?.properties ?? {}), ...Object.keys(metrics)];
    for (const part of [...names.map((name) => `\`${name}\``), ...departures, description])
      expect(text).toContain(part);
  }
});
