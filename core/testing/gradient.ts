import { batches, type Batch } from "./batch.ts";
import { place, show } from "./outcome.ts";
import { forAll, type Property } from "./property.ts";
import { evaluate, type Subject } from "./subject.ts";

/** Wide enough that float32 keeps digits of the difference. */
const STEP = 5e-3;
const TOLERANCE = 2e-3;
/** What float32 loses of a value, a few roundings of it. */
const ROUNDING = 4 * 2 ** -23;
/** Each takes two evaluations a token. */
const RUNS = 8;

/**
 * `gradient` is the slope of the sum of `value` in the token field `field`. The slopes to the left and to the right of a point differ by its
 * curvature, or by a kink; the gradient may lie as far from their mean, and by the noise that a large value's own rounding makes.
 * @param value The scalar, or the field of one number a token, that is differentiated.
 */
export const finiteDifferences = (field: string, value: string): Property<Subject> =>
  forAll(
    "the gradient is that of finite differences",
    (subject) => [batches(subject.shape, [1, 2])],
    async (subject, drawn) => {
      const batch = subject.begin(drawn);
      const valueAt = async (at: number, by: number): Promise<number> => {
        const moved = batch.tokens[field]!.slice();
        moved[at]! += by;
        const { scalars, tokens } = await evaluate(subject, shifted(batch, field, moved), batch);
        return scalars[value] ?? tokens[value]!.reduce((sum, one) => sum + one, 0);
      };
      const { tokens } = await evaluate(subject, batch, batch);
      const here = await valueAt(0, 0);
      for (const [at, slope] of tokens["gradient"]!.entries()) {
        if (batch.mask[at] === 0) continue;
        const [left, right] = [await valueAt(at, -STEP), await valueAt(at, STEP)];
        const mean = (right - left) / (2 * STEP);
        const bend = Math.abs(right - 2 * here + left) / STEP;
        const noise = (ROUNDING * Math.max(1, Math.abs(here))) / STEP;
        if (Math.abs(slope - mean) <= TOLERANCE * Math.max(1, Math.abs(mean)) + bend + noise) continue;
        return `${place("gradient", at, batch.width)} is ${show(slope)}, and finite differences give ${show(mean)}`;
      }
      return undefined;
    },
    RUNS,
  );

const shifted = (batch: Batch, field: string, values: Float32Array): Batch => ({
  ...batch,
  tokens: { ...batch.tokens, [field]: values },
});
