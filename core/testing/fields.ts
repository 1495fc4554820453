import fc from "fast-check";
import { VerlError } from "../errors/index.ts";

/** What the kit fills a batch field of your own with. */
export type FieldSpec =
  | {
      /** One number a token (rows × response length) or a row. */
      readonly per: "token" | "row";
      readonly min: number;
      readonly max: number;
    }
  /** A column of one value a row, each one of these. */
  | { readonly of: readonly unknown[] };

/** Generators of a batch's fields. */
export interface FieldShapes {
  readonly tokens: Readonly<Record<string, fc.Arbitrary<number>>>;
  readonly perRow: Readonly<Record<string, fc.Arbitrary<unknown>>>;
}

const token = (min: number, max: number): FieldSpec => ({ per: "token", min, max });

/** Fields of verl's batches that entries may require. */
const KNOWN: Readonly<Record<string, FieldSpec>> = {
  advantages: token(-2, 2),
  entropy: token(0, 3),
  log_probs: token(-4, 0),
  old_log_probs: token(-4, 0),
  ref_log_prob: token(-4, 0),
  returns: token(-2, 2),
  reward_baselines: { per: "row", min: -2, max: 2 },
  rollout_is_weights: token(0.1, 2),
  rollout_log_probs: token(-4, 0),
  sum_pi_squared: token(0, 1),
  token_level_rewards: token(-2, 2),
  token_level_scores: token(-2, 2),
  values: token(-2, 2),
};

/** Numbers of one decimal, as near as float32 has them: sums round, and a counterexample stays readable. */
export const decimals = (min: number, max: number): fc.Arbitrary<number> =>
  fc.integer({ min: Math.ceil(min * 10), max: Math.floor(max * 10) }).map((tenths) => Math.fround(tenths / 10));

/** @throws VERL_TESTING_SETUP for a field that neither verl nor the author has described. */
export function fieldShapes(names: readonly string[], own: Readonly<Record<string, FieldSpec>> = {}): FieldShapes {
  const tokens: Record<string, fc.Arbitrary<number>> = {};
  const perRow: Record<string, fc.Arbitrary<unknown>> = {};
  for (const name of names) {
    const spec = own[name] ?? KNOWN[name];
    if (spec === undefined) throw unknownField(name);
    if ("of" in spec) perRow[name] = fc.constantFrom(...spec.of);
    else (spec.per === "token" ? tokens : perRow)[name] = decimals(spec.min, spec.max);
  }
  return { tokens, perRow };
}

const unknownField = (name: string): VerlError =>
  new VerlError(
    "VERL_TESTING_SETUP",
    `The entry requires \`${name}\`, and the kit does not know what that looks like. Pass \`fields: { ${name}: { per: "token", min: 0, max: 1 } }\`, with \`per: "row"\` for one number a row, or \`{ of: [...] }\` for a column of those values.`,
  );
