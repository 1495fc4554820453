import * as tf from "@tensorflow/tfjs";
import { registries, resolveOptions, type EntryMeta, type Kind } from "../registry/index.ts";
import { mapValues, type Batch, type BatchShape } from "./batch.ts";
import { numbersOf } from "./numbers.ts";
import { Violation } from "./property.ts";
import type { Outcome } from "./outcome.ts";

type Snapshot = Readonly<Record<string, unknown>>;

/** Inputs of one call, made of a batch and ready to run. */
export interface Prepared {
  /** The same inputs give the same outcome each time. @param strict Reading what is not declared throws. */
  run(strict?: boolean): Outcome | Promise<Outcome>;
  /** Copies of all that was handed to the entry, as plain data. */
  snapshot(): Snapshot | Promise<Snapshot>;
  /** Frees tensors. */
  dispose(): void;
}

/** An entry under test whose work is batch in, numbers out. */
export interface Subject {
  readonly kind: Kind;
  readonly key: string;
  readonly entry: EntryMeta;
  /** The options that the tests run with. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly shape: BatchShape;
  /** Results that must be 0 where the mask is 0. */
  readonly zeroBehindMask: readonly string[];
  /** The batch with the fields that the entry adds to a whole step before it is cut; idempotent. */
  begin(batch: Batch): Batch;
  /** @param step The whole step that the batch is a part of; its tokens and rows are the denominators. */
  prepare(batch: Batch, step: Batch): Prepared;
}

/**
 * What the entry makes of a batch.
 * @param step The step that it is a part of, begun. Default: the batch is the whole step, and the step's own metrics count.
 */
export async function evaluate(subject: Subject, batch: Batch, step?: Batch): Promise<Outcome> {
  const whole = step ?? subject.begin(batch);
  const outcome = await using(subject, step ? batch : whole, (prepared) => prepared.run(), whole);
  return step ? outcome : { ...outcome, scalars: { ...whole.begun?.metrics, ...outcome.scalars } };
}

/** Prepares the batch for `body`, and frees its tensors. */
export async function using<T>(
  subject: Subject,
  batch: Batch,
  body: (prepared: Prepared) => T | Promise<T>,
  step?: Batch,
): Promise<T> {
  const whole = step ?? subject.begin(batch);
  const prepared = subject.prepare(step ? batch : whole, whole);
  try {
    return await body(prepared);
  } finally {
    prepared.dispose();
  }
}

/** Options as a run would hand them over: validated, defaults filled in. */
export const optionsOf = (
  kind: Kind,
  key: string,
  given?: Readonly<Record<string, unknown>>,
): Record<string, unknown> => resolveOptions(kind, key, given);

/** The entry's own key, where an alias was given, and the entry. */
export function entryUnder<K extends Kind>(kind: K, key: string) {
  return registries[kind].find(key);
}

/** The object, with an error where a string property that is not allowed is read. */
function watched<T extends object>(object: T, allowed: readonly string[], remedy: string): T {
  return new Proxy(object, {
    get(target, name, receiver): unknown {
      if (typeof name === "string" && !allowed.includes(name)) throw new Violation(`it reads \`${name}\`, ${remedy}`);
      return Reflect.get(target, name, receiver);
    },
  });
}

const UNDECLARED_FIELD = "which is not in its `requires`";
const UNDECLARED_OPTION = "which is not in its `optionsSchema`";

/** Input fields, of which the entry may read `allowed`. */
export const watchedFields = <T extends object>(fields: T, allowed: readonly string[]): T =>
  watched(fields, allowed, UNDECLARED_FIELD);

/** Options, of which the entry may read its own and `usual`. */
export const watchedOptions = <T extends object>(options: T, entry: EntryMeta, usual: readonly string[] = []): T =>
  watched(options, [...usual, ...Object.keys(entry.optionsSchema?.properties ?? {})], UNDECLARED_OPTION);

/** rows × width, float32. */
export const matrix = (values: Float32Array, { rows, width }: Batch): tf.Tensor2D => tf.tensor2d(values, [rows, width]);

/** Tensors as lists, which print and compare. */
export const plainOf = async (tensors: Readonly<Record<string, tf.Tensor>>): Promise<Record<string, number[]>> =>
  mapValues(await numbersOf(tensors), (values) => [...values]);

/** @throws Violation where a result is not one number, or not of this shape. */
export function requireShape(name: string, value: unknown, shape: readonly number[]): void {
  const actual = (value as { shape?: readonly number[] } | undefined)?.shape;
  if (actual !== undefined && tf.util.arraysEqual([...actual], [...shape])) return;
  const got =
    actual === undefined ? `is ${value === null ? "null" : typeof value}` : `has the shape [${actual.join(", ")}]`;
  throw new Violation(`\`${name}\` ${got}, not [${shape.join(", ")}]`);
}
