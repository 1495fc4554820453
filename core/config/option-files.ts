import { statSync } from "node:fs";
import type { JSONSchema7 } from "json-schema";
import type { ErrorLocation } from "../errors/index.ts";
import { registries, resolveOptions, type Kind } from "../registry/index.ts";
import type { Problem } from "./problem.ts";

/** Options that name a file, `format: "file"` in their schema, and where there is none. */
export function missingFiles(
  kind: Kind,
  key: string,
  given: Readonly<Record<string, unknown>>,
  location: ErrorLocation,
): Problem[] {
  const { entry, key: canonical } = registries[kind].find(key, location);
  const options = resolveOptions(kind, key, given, location);
  return filesOf(entry.optionsSchema ?? {}, options, [])
    .filter(({ path }) => !statSync(path, { throwIfNoEntry: false })?.isFile())
    .map(({ option, path }) => ({
      code: "VERL_OPTIONS_INVALID",
      message: `\`${option}\` of "${canonical}" is "${path}", where there is no file.`,
      hint: "Relative paths start at the working directory.",
      location,
    }));
}

function filesOf(
  { format, properties = {} }: JSONSchema7,
  value: unknown,
  at: readonly string[],
): { option: string; path: string }[] {
  if (format === "file") return typeof value === "string" ? [{ option: at.join("."), path: value }] : [];
  return Object.entries(properties).flatMap(([name, property]) =>
    typeof property === "object" && typeof value === "object" && value !== null
      ? filesOf(property, (value as Readonly<Record<string, unknown>>)[name], [...at, name])
      : [],
  );
}
