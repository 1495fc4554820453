import { VerlError, type DatasetSource, type Rng } from "verl";

/**
 * The rows of one file as often as its weight says: 2 is each twice, 0.5 a random half, 1.5 each once and a random half again.
 * The random ones are settled by the seed and the file's place, and stay in file order.
 */
export function weighRows<T>(rows: readonly T[], weight: number, rng: Rng, file: number): T[] {
  const whole = Math.floor(weight);
  const part = Math.round((weight - whole) * rows.length);
  const repeated = Array.from({ length: whole }, () => rows).flat();
  return part === 0 ? repeated : [...repeated, ...drawRows(rows, part, rng, `data/weights/${file}`)];
}

/** At most `maxSamples` rows: random ones in file order, or the first. */
export function limitRows<T>(rows: readonly T[], { maxSamples, shuffle }: DatasetSource, rng: Rng): readonly T[] {
  if (maxSamples < 0 || maxSamples >= rows.length) return rows;
  return shuffle ? drawRows(rows, maxSamples, rng, "data/max_samples") : rows.slice(0, maxSamples);
}

/** The weight of each file. @throws VerlError VERL_CONFIG_VALUE when there are more or fewer than files. */
export function weightsOf({ files, weights }: DatasetSource): readonly number[] {
  if (weights === undefined || weights.length === 0) return files.map(() => 1);
  if (weights.length === files.length) return weights;
  throw new VerlError(
    "VERL_CONFIG_VALUE",
    `\`data.train_weights\` has ${weights.length} numbers for ${files.length} files.`,
    { location: { path: "data.train_weights" }, hint: "Give one number a file of data.train_files, in their order." },
  );
}

function drawRows<T>(rows: readonly T[], count: number, rng: Rng, stream: string): T[] {
  const order = Int32Array.from(rows, (_, index) => index);
  const drawn = rng.stream(stream).shuffle(order).slice(0, count).sort();
  return Array.from(drawn, (index) => rows[index]!);
}
