import { VerlError } from "../../errors/verl-error.ts";
import { Mt19937 } from "./mt19937.ts";

/** verl's number of bootstrap draws and their seed. */
const DRAWS = 1000;
const SEED = 42;

/** data source → variable → metric (`mean@4`, `best@2/std`, …) → value. */
export type ValidationMetrics = Map<string, Map<string, Map<string, number>>>;

/**
 * verl's validation metrics. For each prompt (uid) with N answers and each numeric variable: `mean@N`, and when N > 1 `std@N` and,
 * for n = 2, 4, 8, … below N and for N itself, `best@n`, `worst@n` and, where `pred` is given, `maj@n`, each with mean and std over 1000 bootstrap
 * draws; then the mean over prompts. A value of null (unscored) is left out of its prompt.
 *
 * @param infos variable → one value a sample; variables that are not numbers or booleans are passed over.
 * @throws VERL_VALIDATION_INFOS when a variable has another number of values than there are samples.
 */
export function processValidationMetrics(
  dataSources: readonly string[],
  uids: readonly string[],
  infos: Readonly<Record<string, readonly unknown[]>>,
): ValidationMetrics {
  checkLengths(dataSources, uids, infos);
  const result: ValidationMetrics = new Map();
  const draws = new BootstrapDraws();
  for (const [source, prompts] of groupSamples(dataSources, uids)) {
    const variables = new Map<string, Map<string, number>>();
    for (const [name, values] of Object.entries(infos)) {
      const means = new Means();
      for (const samples of prompts.values()) {
        const scored = samples.filter((sample) => isNumeric(values[sample]));
        if (scored.length === 0) continue;
        const numbers = scored.map((sample) => Number(values[sample]));
        const answers = infos["pred"] ? scored.map((sample) => infos["pred"]![sample]) : undefined;
        for (const [metric, value] of promptMetrics(numbers, answers, draws)) means.add(metric, value);
      }
      if (means.size > 0) variables.set(name, means.finish());
    }
    result.set(source, variables);
  }
  return result;
}

/**
 * Flat names: `val-core/<source>/<variable>/<metric>` for the metrics to look at first (of `acc`, or of `reward` where there is no `acc`:
 * mean, maj and best at the greatest n), `val-aux/…` for the rest. The number after `@` decides, not a part of it: at n = 1, `mean@16` is no core metric.
 */
export function nameValidationMetrics(metrics: ValidationMetrics): Record<string, number> {
  const named: Record<string, number> = {};
  for (const [source, variables] of metrics) {
    const core = variables.has("acc") ? "acc" : "reward";
    for (const [variable, values] of variables) {
      const greatest = Math.max(...[...values.keys()].map(answersOf));
      for (const [metric, value] of values) {
        const isCore = variable === core && /^(?:mean|maj|best)@/.test(metric) && answersOf(metric) === greatest;
        named[`${isCore ? "val-core" : "val-aux"}/${source}/${variable}/${metric}`] = value;
      }
    }
  }
  return named;
}

/** Reduces one bootstrap draw: the samples whose numbers stand in `draws` from `start` to `end`. */
type Reducer = (draws: Uint32Array, start: number, end: number) => number;

/** Mean and std (n) of a reducer over all draws of `size` samples. */
export function bootstrap(draws: Uint32Array, size: number, reduce: Reducer): { mean: number; std: number } {
  const results = new Float64Array(draws.length / size);
  for (let draw = 0; draw < results.length; draw++) results[draw] = reduce(draws, draw * size, (draw + 1) * size);
  return meanStd(results);
}

/** `numpy.random.choice(population, (draws, size))` after `numpy.random.seed(seed)`, from a generator of its own. */
export function drawIndices(population: number, size: number, draws = DRAWS, seed = SEED): Uint32Array {
  const rng = new Mt19937(seed);
  return new Uint32Array(draws * size).map(() => rng.below(population));
}

function promptMetrics(
  values: readonly number[],
  answers: readonly unknown[] | undefined,
  draws: BootstrapDraws,
): Map<string, number> {
  const all = values.length;
  const { mean, std } = meanStd(values);
  const metrics = new Map([[`mean@${all}`, mean]]);
  if (all === 1) return metrics;
  metrics.set(`std@${all}`, std);
  const vote = answers && majorityOf(values, answers);
  for (const n of subsetSizes(all)) {
    const indices = draws.get(all, n);
    set(`best@${n}`, bootstrap(indices, n, greatestOf(values)));
    set(`worst@${n}`, bootstrap(indices, n, leastOf(values)));
    if (vote) set(`maj@${n}`, bootstrap(indices, n, vote));
  }
  return metrics;

  function set(name: string, summary: { mean: number; std: number }): void {
    metrics.set(`${name}/mean`, summary.mean);
    metrics.set(`${name}/std`, summary.std);
  }
}

function greatestOf(values: readonly number[]): Reducer {
  return (draws, start, end) => {
    let greatest = -Infinity;
    for (let i = start; i < end; i++) greatest = Math.max(greatest, values[draws[i]!]!);
    return greatest;
  };
}

function leastOf(values: readonly number[]): Reducer {
  return (draws, start, end) => {
    let least = Infinity;
    for (let i = start; i < end; i++) least = Math.min(least, values[draws[i]!]!);
    return least;
  };
}

/** Value of the first sample with the most frequent answer; among equals the answer that came first. */
function majorityOf(values: readonly number[], answers: readonly unknown[]): Reducer {
  const numbers = new Map<unknown, number>();
  for (const answer of answers) if (!numbers.has(answer)) numbers.set(answer, numbers.size);
  const answerOf = Int32Array.from(answers, (answer) => numbers.get(answer)!);
  const counts = new Int32Array(numbers.size);
  return (draws, start, end) => {
    for (let i = start; i < end; i++) counts[answerOf[draws[i]!]!] = 0;
    for (let i = start; i < end; i++) counts[answerOf[draws[i]!]!]! += 1;
    let first = start;
    for (let i = start + 1; i < end; i++) {
      if (counts[answerOf[draws[i]!]!]! > counts[answerOf[draws[first]!]!]!) first = i;
    }
    return values[draws[first]!]!;
  };
}

/** 2, 4, 8, … below `all`, and `all`. */
function subsetSizes(all: number): number[] {
  const sizes: number[] = [];
  for (let n = 2; n < all; n *= 2) sizes.push(n);
  return [...sizes, all];
}

/** Every prompt of N answers sees the same draws, so they are made once. */
class BootstrapDraws {
  readonly #draws = new Map<string, Uint32Array>();

  get(population: number, size: number): Uint32Array {
    const key = `${population}/${size}`;
    const known = this.#draws.get(key) ?? drawIndices(population, size);
    this.#draws.set(key, known);
    return known;
  }
}

class Means {
  readonly #sums = new Map<string, { total: number; count: number }>();

  get size(): number {
    return this.#sums.size;
  }

  add(name: string, value: number): void {
    const sum = this.#sums.get(name) ?? { total: 0, count: 0 };
    sum.total += value;
    sum.count += 1;
    this.#sums.set(name, sum);
  }

  finish(): Map<string, number> {
    return new Map([...this.#sums].map(([name, { total, count }]) => [name, total / count]));
  }
}

function groupSamples(dataSources: readonly string[], uids: readonly string[]): Map<string, Map<string, number[]>> {
  const groups = new Map<string, Map<string, number[]>>();
  dataSources.forEach((source, sample) => {
    const prompts = groups.get(source) ?? new Map<string, number[]>();
    groups.set(source, prompts);
    const samples = prompts.get(uids[sample]!) ?? [];
    prompts.set(uids[sample]!, samples);
    samples.push(sample);
  });
  return groups;
}

function checkLengths(
  dataSources: readonly string[],
  uids: readonly string[],
  infos: Readonly<Record<string, readonly unknown[]>>,
): void {
  const samples = dataSources.length;
  for (const [name, values] of Object.entries({ uid: uids, ...infos })) {
    if (values.length === samples) continue;
    throw new VerlError(
      "VERL_VALIDATION_INFOS",
      `Validation variable "${name}" has ${values.length} values for ${samples} samples.`,
      { hint: "Give null for samples that lack the value." },
    );
  }
}

function meanStd(values: ArrayLike<number>): { mean: number; std: number } {
  let total = 0;
  for (let i = 0; i < values.length; i++) total += values[i]!;
  const mean = total / values.length;
  let squares = 0;
  for (let i = 0; i < values.length; i++) squares += (values[i]! - mean) ** 2;
  return { mean, std: Math.sqrt(squares / values.length) };
}

/** The number of answers in a metric's name, for example 4 of `best@4/mean`. */
function answersOf(metric: string): number {
  return Number(/@(\d+)/.exec(metric)?.[1]);
}

function isNumeric(value: unknown): boolean {
  return typeof value === "number" || typeof value === "boolean";
}
