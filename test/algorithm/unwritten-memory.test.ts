import { afterEach, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { NdArray, registries, resolveOptions, type AdvantageInput } from "verl";
import { advantageEstimators } from "../../plugins/advantage/index.ts";

for (const { key, entry } of advantageEstimators) registries.adv_estimator.register(key, entry);

const [ROWS, WIDTH] = [12, 400];
const allocate = Buffer.allocUnsafeSlow.bind(Buffer);
const POISON = 0xff;

/** Memory comes as its last owner left it; as float32, four bytes of 255 are NaN. */
beforeEach(() => {
  jest.spyOn(Buffer, "allocUnsafeSlow").mockImplementation((size) => allocate(size).fill(POISON));
});
afterEach(() => {
  jest.restoreAllMocks();
});

it("large arrays are not cleared before they are written", () => {
  const field = NdArray.unwritten("float32", [ROWS, WIDTH]);
  expect(field.data).toHaveLength(ROWS * WIDTH);
  expect(field.data.every(Number.isNaN)).toBe(true);
});

it("rows that are gathered or put together are written whole", () => {
  const rows = numbers((at) => at);
  const order = Int32Array.from({ length: ROWS }, (_, row) => ROWS - 1 - row);
  expect(rows.gather(order).gather(order).equals(rows)).toBe(true);
  expect(NdArray.concat([rows.slice(0, 5), rows.slice(5)]).equals(rows)).toBe(true);
});

describe.each([...registries.adv_estimator.keys()])("%s", (key) => {
  it.each([
    ["answers of many lengths", (column: number, row: number): boolean => column < (row * 37) % WIDTH],
    ["observations in between", (column: number, row: number): boolean => column % 7 !== row % 7],
  ])("writes every element of what it returns: %s", (_, isToken) => {
    const input = {
      token_level_rewards: numbers((at) => (at % 5) / 5),
      response_mask: numbers((at) => (isToken(at % WIDTH, Math.floor(at / WIDTH)) ? 1 : 0)),
      unscored: Uint8Array.from({ length: ROWS }, (__, row) => (row === 3 ? 1 : 0)),
      uid: Array.from({ length: ROWS }, (__, row) => `prompt ${Math.floor(row / 4)}`),
      values: numbers((at) => (at % 3) / 3),
      old_log_probs: numbers((at) => -(at % 4) / 4),
      sum_pi_squared: numbers((at) => (at % 6) / 6),
      reward_baselines: new NdArray("float32", [ROWS], new Float32Array(ROWS).fill(0.5).fill(NaN, 7, 8)),
      accuracy: Array.from({ length: ROWS }, (__, row) => row % 3),
    } as unknown as AdvantageInput;
    const estimator = registries.adv_estimator.resolve(key);
    const options = key === "gdpo" ? { reward_keys: ["accuracy"] } : undefined;
    const config = { gamma: 1, lam: 0.95, norm_adv_by_std_in_grpo: true };
    const adv_kwargs = resolveOptions("adv_estimator", key, options);
    const { advantages, returns } = estimator.compute(
      input,
      { ...config, adv_kwargs },
      {
        metric: () => {},
      },
    );
    expect(advantages.data.every(Number.isFinite)).toBe(true);
    expect(returns.data.every(Number.isFinite)).toBe(true);
    expect(advantages.data.some((advantage) => advantage !== 0)).toBe(true);
  });
});

function numbers(of: (at: number) => number): NdArray<"float32"> {
  return new NdArray(
    "float32",
    [ROWS, WIDTH],
    Float32Array.from({ length: ROWS * WIDTH }, (_, at) => of(at)),
  );
}
