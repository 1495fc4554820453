import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import type { JSONSchema7 } from "json-schema";
import { reasonOf } from "../errors/reason-of.ts";

let ajv: Ajv | undefined;
const compiled = new WeakMap<object, ValidateFunction>();

/** Draft-07, every problem at once, defaults filled in. Editors read `markdownDescription`; it says nothing about values. */
function instance(): Ajv {
  return (ajv ??= new Ajv({
    allErrors: true,
    useDefaults: true,
    strict: true,
    code: { optimize: false }, // Compiling is half of the cost: schemas are many, and each validates once.
    strictRequired: false,
    allowUnionTypes: true,
    verbose: true,
    keywords: ["markdownDescription"],
    formats: { file: true }, // Whether it is there, the config's check says: it is another matter where it is read.
  }));
}

/** The validator of a schema; it writes defaults into what it validates. */
export function validatorOf(schema: JSONSchema7): ValidateFunction {
  let validate = compiled.get(schema);
  if (validate === undefined) compiled.set(schema, (validate = instance().compile(schema)));
  return validate;
}

/** What is wrong with a plugin's schema, in sentences without their full stop; empty when nothing is. */
export function schemaFaults(schema: JSONSchema7): string[] {
  const faults = shapeFaults(schema);
  if (faults.length > 0) return faults;
  let validate: ValidateFunction;
  try {
    validate = validatorOf(schema);
  } catch (error) {
    return [reasonOf(error)];
  }
  validate({});
  return (validate.errors ?? [])
    .filter(({ keyword, instancePath }) => !(keyword === "required" && instancePath === ""))
    .map((error) => `the default of \`${optionOf(error)}\` ${error.message}`);
}

function shapeFaults(schema: JSONSchema7): string[] {
  if (typeof schema !== "object" || schema === null) return ["it is not an object"];
  const faults: string[] = [];
  if (schema.type !== "object") faults.push('`type` must be "object"');
  if (schema.additionalProperties !== false) faults.push("`additionalProperties` must be false");
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    if (typeof property !== "object" || !property.description) faults.push(`\`${name}\` has no description`);
    else if (!("default" in property) && !schema.required?.includes(name))
      faults.push(`\`${name}\` has no default and is not required`);
  }
  return faults;
}

/** Dotted name of the option that an ajv error is about. */
export function optionOf({ instancePath, keyword, params }: ErrorObject): string {
  const path = instancePath
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  if (keyword === "additionalProperties") path.push(String(params["additionalProperty"]));
  if (keyword === "required") path.push(String(params["missingProperty"]));
  return path.join(".");
}
