import { existsSync, readFileSync } from "node:fs";
import { DataProto } from "../batch/data-proto.ts";
import { VerlError } from "../errors/index.ts";
import { kindInfo, type Kind } from "../registry/index.ts";
import { isMatrix, type GoldenCase, type GoldenCases } from "./cases.ts";
import { contentOf } from "./content.ts";

const FIELDS = ["name", "input", "config", "expected"];

const EXAMPLE = "Give `cases` at least one worked example: `{ name, input, expected }`.";

/** @throws VERL_TESTING_CASES for tests that would pass whatever the entry does. */
export function checkCases(kind: Kind, key: string, cases: GoldenCases<GoldenCase> | undefined): void {
  const weak = (what: string, hint = EXAMPLE): VerlError =>
    new VerlError("VERL_TESTING_CASES", `The golden cases of the ${kindInfo(kind).title} "${key}" ${what}.`, {
      hint,
      details: { kind, key },
    });
  if (typeof cases === "string") {
    if (!existsSync(cases)) throw weak(`are said to be in ${cases}, which does not exist`);
    if (!readFileSync(cases, "utf8").includes(`"${key}"`))
      throw weak(`are said to be in ${cases}, which does not name "${key}"`);
    return;
  }
  if (cases === undefined || cases.length === 0) throw weak("are missing");
  const names = new Set<string>();
  const contents = new Map<string, string>();
  for (const [index, one] of cases.entries()) {
    if (!one.name) throw weak(`have one without a name, at ${index}`);
    const odd = Object.keys(one).find((field) => !FIELDS.includes(field));
    if (odd !== undefined) throw weak(`have in "${one.name}" the field \`${odd}\`, which means nothing`);
    if (names.has(one.name)) throw weak(`have two of the name "${one.name}"`);
    names.add(one.name);
    if (leaves(one.expected ?? {}).length === 0) throw weak(`expect nothing in "${one.name}"`);
    const content = contentOf([one.input, one.config ?? {}]);
    const twin = contents.get(content);
    if (twin !== undefined) throw weak(`have the same input in "${twin}" and "${one.name}"`);
    contents.set(content, one.name);
    const emptiness = emptinessOf(one);
    if (emptiness !== undefined) throw weak(`${emptiness[0]} in "${one.name}"`, emptiness[1]);
  }
  if (!cases.every(({ expected }) => isZero(expected))) return;
  throw weak("expect nothing but zeros", "What always answers 0 would pass; add a case with another result.");
}

/**
 * Why a case of one number a token proves nothing: what gives 0 for every batch would pass it, and the kit tests batches without tokens by
 * itself. Cases of other kinds have so few numbers that a 0 among them may be all there is; they are looked at together.
 */
function emptinessOf({ input, expected }: GoldenCase): [what: string, hint: string] | undefined {
  if (!Object.values(input).some(isMatrix)) return undefined;
  const { response_mask: mask } = input;
  if (isMatrix(mask) && isZero(mask)) {
    return [
      "mask every token",
      "Set `response_mask` to 1 where the model wrote; the kit tests empty batches by itself.",
    ];
  }
  if (!isZero(expected)) return undefined;
  const remedy = "Let one batch hold what gives 0 and what does not, such as a second group or a second row.";
  return ["expect nothing but zeros", `What always answers 0 would pass. ${remedy}`];
}

const isZero = (value: unknown): boolean => leaves(value).every((leaf) => leaf === 0);

/** All that a value says: numbers, texts, flags, batches; none for empty lists and undefined. */
const leaves = (value: unknown): unknown[] =>
  typeof value === "object" && value !== null && !(value instanceof DataProto)
    ? Object.values(value).flatMap(leaves)
    : value === undefined
      ? []
      : [value];
