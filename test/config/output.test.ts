import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { Ajv } from "ajv";
import fc from "fast-check";
import { parse } from "yaml";
import { defaultYaml } from "../../core/config/default-yaml.ts";
import { explain, showExplanation } from "../../core/config/explain.ts";
import { configJsonSchema } from "../../core/config/json-schema.ts";
import { loadConfig, readConfig } from "../../core/config/load.ts";
import { printValue } from "../../core/config/override-grammar.ts";
import { printConfig } from "../../core/config/print.ts";
import { SCHEMAS, type SchemaName } from "../../core/config/schema/index.ts";
import type { FieldSchema } from "../../core/config/schema/field.ts";
import { load, withFiles } from "./support.ts";

const NAMES: SchemaName[] = ["ppo", "sft"];
const committed = (name: SchemaName) =>
  readFileSync(fileURLToPath(new URL(`../../core/config/${name}_trainer.yaml`, import.meta.url)), "utf8");

/** Every field that is no section, with its path. */
function* fields(schema: FieldSchema, path: string[] = []): Generator<[string[], FieldSchema]> {
  for (const [key, field] of Object.entries(schema.properties ?? {})) {
    yield [[...path, key], field];
    yield* fields(field, [...path, key]);
  }
}

describe.each(NAMES)("the default file of %s", (name) => {
  it("is what the schema says (else run `verl config defaults`)", () => {
    expect(committed(name)).toBe(defaultYaml(name));
  });

  it("loads to the defaults", () => {
    const read = withFiles({ "run.yaml": committed(name) }, (directory) =>
      loadConfig({ schema: name, file: "run.yaml", directory }),
    );
    expect(read.config).toEqual(loadConfig({ schema: name }).config);
    expect(read.notes).toEqual([]);
  });
});

describe.each(NAMES)("the JSON Schema of %s", (name) => {
  const ajv = new Ajv({ allErrors: true, strictTypes: false });
  const schema = configJsonSchema(name);

  it("is draft-07 that describes every key", () => {
    expect(schema.$schema).toBe("http://json-schema.org/draft-07/schema#");
    expect(ajv.validateSchema(schema)).toBe(true);
    expect(JSON.stringify(schema)).not.toContain('"x-');
    const bare = [...fields(SCHEMAS[name])].filter(
      ([, { description, default: fallback, properties }]) =>
        !description?.endsWith(".") || (fallback === undefined && properties === undefined),
    );
    expect(bare).toEqual([]);
  });

  it("accepts the default file and interpolations, and rejects a wrong type", () => {
    const validate = ajv.compile(schema);
    expect(validate(parse(committed(name)))).toBe(true);
    expect(
      validate({
        data: { train_batch_size: "${trainer.seed}", train_files: "one.parquet" },
        trainer: { logger: "console" },
      }),
    ).toBe(true);
    expect(validate({ data: { train_batch_size: "many" } })).toBe(false);
    expect(validate({ data: { train_batch_size: 0 } })).toBe(false);
  });
});

describe("validation", () => {
  it("agrees with ajv on every scalar field", () => {
    const ajv = new Ajv({ strict: false });
    const candidates = fc.oneof(
      fc.constantFrom(null, true, "", "text", "error", "constant", "auto", 0, -1, 0.5, 1, 2, 3),
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
    );
    const scalars = [...fields(SCHEMAS.ppo)].filter(([, { type }]) => type !== "object" && type !== "array");
    fc.assert(
      fc.property(fc.constantFrom(...scalars), candidates, ([path, field], value) => {
        // An integer stands for a name, and ajv counts 2^60 as an integer.
        fc.pre(!(typeof value === "number" && (field.type === "string" || Math.abs(value) > 2 ** 53)));
        fc.pre(!(Array.isArray(field.type) && field.type.includes("string") && typeof value === "number"));
        const { "x-aliases": aliases, "x-departure": _departure, ...rule } = field;
        fc.pre(!(typeof value === "string" && aliases?.[value] !== undefined));
        const { problems } = readConfig({
          schema: "ppo",
          overrides: [`${path.join(".")}=${printValue(value)}`],
          env: {},
        });
        const own = problems.filter(
          ({ code, location }) => code === "VERL_CONFIG_VALUE" && location.path === path.join(".") && location.override,
        );
        const accepted = ajv.validate(rule, value);
        if (!accepted) expect(own).toHaveLength(1);
        else expect(own.filter(({ message }) => message.includes("it must be"))).toEqual([]);
      }),
      { numRuns: 150 },
    );
  });
});

describe("printing", () => {
  it("prints YAML that reads back as the same config", () => {
    const { config, ...rest } = load([
      "trainer.experiment_name='10e2'",
      "data.tokenizer='null'",
      "+algorithm.adv_kwargs.odd={a: 'x: y', b: [1e-7, inf], c: '\\${not}'}",
    ]);
    const again = load([], printConfig({ config, ...rest }));
    expect(again.config).toEqual(config);
    expect(config.algorithm.adv_kwargs["odd"]).toEqual({ a: "x: y", b: [1e-7, Infinity], c: "${not}" });
  });

  it("says where each value was written", () => {
    const text = printConfig(load(["trainer.seed=3"], "data:\n  train_batch_size: 512\n"), { origin: true });
    expect(text).toMatch(/^data\.train_batch_size: 512 +# run\.yaml:2:21$/m);
    expect(text).toMatch(/^trainer\.seed: 3 +# override trainer\.seed=3$/m);
    expect(text).toMatch(/^trainer\.nnodes: 1 +# default$/m);
  });

  it("explains derived numbers and keys without effect", () => {
    const loaded = load([
      "algorithm.adv_estimator=grpo",
      "data.train_batch_size=12",
      "actor_rollout_ref.rollout.n=3",
      "actor_rollout_ref.actor.ppo_mini_batch_size=4",
      "actor_rollout_ref.rollout.dtype=float16",
    ]);
    const numbers = Object.fromEntries(explain(loaded).map(({ name, value }) => [name, value]));
    expect(numbers).toMatchObject({
      "prompts a step": 12,
      "samples a step": 36,
      "updates a step": 3,
      "tokens a step, at most": 36 * 1024,
      critic: "no",
    });
    expect(showExplanation(loaded)).toMatch(/^samples a step +36 +12 prompts × rollout\.n 3$/m);
    expect(showExplanation(loaded)).toMatch(
      /override actor_rollout_ref\.rollout\.dtype=float16: `actor_rollout_ref\.rollout\.dtype` has no effect here\./,
    );
    expect(explain(loadConfig({ schema: "sft" })).find(({ name }) => name === "accumulation steps")?.value).toBe(64);
  });
});
