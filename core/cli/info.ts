import type { JSONSchema7, JSONSchema7Definition } from "json-schema";
import { kindInfo, registries, type Registration } from "../registry/index.ts";
import type { CliCommand } from "./command.ts";
import { addRegistryOptions, loadForOptions, parseKind, type RegistryOptions } from "./registry-options.ts";
import { table } from "./table.ts";

export const command: CliCommand = {
  configure(self, ctx) {
    addRegistryOptions(
      self.argument("<kind>", "for example adv_estimator").argument("<key>", "for example grpo"),
    ).action(async (kindText: string, key: string, options: RegistryOptions) => {
      const kind = parseKind(kindText);
      await loadForOptions(options, ctx);
      const found: Registration = registries[kind].find(key);
      ctx.print(options.json ? JSON.stringify(asJson(found), null, 2) : describe(found));
    });
  },
};

function asJson({ kind, key, source, overrides, entry }: Registration): object {
  const { description, paper, aliases = [], requires = [], metrics = {}, departures = [], optionsSchema } = entry;
  return { kind, key, source, overrides, description, paper, aliases, requires, optionsSchema, metrics, departures };
}

/** A heading with what belongs under it, or nothing. */
const block = (title: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : ["", `${title}:`, ...lines];

function describe({ kind, key, source, overrides, entry }: Registration): string {
  const { title, selectedBy, optionsAt } = kindInfo(kind);
  const facts = [
    ["source", overrides === undefined ? source : `${source}, overrides ${overrides}`],
    ["paper", entry.paper],
    ["aliases", entry.aliases?.join(", ")],
    ["requires", entry.requires?.join(", ")],
    ["chosen by", selectedBy && `${selectedBy}: ${key}`],
  ].filter((row): row is [string, string] => Boolean(row[1]));
  const options = optionRows(entry.optionsSchema);
  const metrics = Object.entries(entry.metrics ?? {});
  return [
    `${key} (${title})`,
    entry.description,
    "",
    table(facts),
    ...block(
      optionsAt === undefined ? "options" : `options, under ${optionsAt}`,
      options.length > 0 ? [table(options)] : [],
    ),
    ...block("metrics", metrics.length > 0 ? [table(metrics)] : []),
    ...block(
      "otherwise than verl",
      (entry.departures ?? []).map((departure) => `  ${departure}`),
    ),
  ].join("\n");
}

function optionRows(schema: JSONSchema7 | undefined): string[][] {
  return Object.entries(schema?.properties ?? {}).map(([name, property]) => {
    const own = typeof property === "object" ? property : {};
    const value = "default" in own ? `default ${JSON.stringify(own.default)}` : "required";
    return [name, allowed(own), value, own.description ?? ""];
  });
}

/** Type and bounds of an option: `number ≥ 0, < 1`, `"left" | "right"`. */
function allowed(property: JSONSchema7Definition): string {
  if (typeof property !== "object") return "any";
  if (property.enum) return property.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (property.anyOf) return property.anyOf.map(allowed).join(" | ");
  const bounds = [
    property.minimum !== undefined && `≥ ${property.minimum}`,
    property.exclusiveMinimum !== undefined && `> ${property.exclusiveMinimum}`,
    property.maximum !== undefined && `≤ ${property.maximum}`,
    property.exclusiveMaximum !== undefined && `< ${property.exclusiveMaximum}`,
  ].filter(Boolean);
  const type = [property.type ?? "any"].flat().join(" | ");
  return bounds.length > 0 ? `${type} ${bounds.join(", ")}` : type;
}
