import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { SCHEMAS } from "../../core/config/schema/index.ts";
import type { FieldSchema } from "../../core/config/schema/field.ts";
import { reasonWithoutEffect } from "../../core/config/verl-keys.ts";
import { load } from "./support.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Keys that nothing reads by themselves, with the key that takes its default from them. */
const READ_BY_INTERPOLATION: Readonly<Record<string, string>> = {
  "data.max_response_length": "actor_rollout_ref.rollout.response_length",
};

/** The code without comments, and without the places where keys are merely declared. */
const code = ["core", "plugins"]
  .flatMap((room) =>
    readdirSync(`${ROOT}${room}`, { recursive: true, encoding: "utf8" }).map((file) => `${room}/${file}`),
  )
  .filter((file) => file.endsWith(".ts") && !/^core\/config\/(schema\/|verl-keys)/.test(file.replaceAll("\\", "/")))
  .map((file) => readFileSync(`${ROOT}${file}`, "utf8").replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, ""))
  .join("\n");
const words = new Set(code.match(/\w+/g));

function leaves(schema: FieldSchema, path: readonly string[] = []): string[] {
  if (schema.properties === undefined) return [path.join(".")];
  return Object.entries(schema.properties).flatMap(([key, child]) => leaves(child, [...path, key]));
}

const PATHS = [...new Set([...leaves(SCHEMAS.ppo), ...leaves(SCHEMAS.sft)])];

describe("every key of the schema", () => {
  it("is read by some code, or gives another key its default", () => {
    const unread = PATHS.filter((path) => !words.has(path.split(".").at(-1)!));
    expect(unread).toEqual(Object.keys(READ_BY_INTERPOLATION));
  });

  it("gives its value to the keys that are said to follow it", () => {
    for (const [from, to] of Object.entries(READ_BY_INTERPOLATION)) {
      const { config } = load([`${from}=37`]);
      const value = to.split(".").reduce<unknown>((node, key) => (node as Record<string, unknown>)[key], config);
      expect({ [to]: value }).toEqual({ [to]: 37 });
    }
  });

  it("is not said to be without effect as well", () => {
    expect(PATHS.filter((path) => reasonWithoutEffect(path.split(".")) !== undefined)).toEqual([]);
  });
});
