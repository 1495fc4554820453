import * as tf from "@tensorflow/tfjs";
import fc from "fast-check";
import { batches, junk, orders, splits, type Batch } from "./batch.ts";
import {
  close,
  crop,
  difference,
  identical,
  join,
  notFinite,
  notZeroBehindMask,
  reorder,
  show,
  type Outcome,
} from "./outcome.ts";
import { forAll, type Property } from "./property.ts";
import { evaluate, using, type Subject } from "./subject.ts";
import { fillMasked, maskAll, order, padColumns, padRows, take } from "./transforms.ts";

type BatchProperty = Property<Subject>;

const any = (subject: Subject): fc.Arbitrary<Batch> => batches(subject.shape);

const behindMask = async (subject: Subject, batch: Batch): Promise<string | undefined> => {
  const outcome = await evaluate(subject, batch);
  return subject.zeroBehindMask.map((name) => notZeroBehindMask(name, outcome, batch)).find(Boolean);
};

export const shapes: BatchProperty = forAll(
  "results have the right shape and are finite",
  (subject) => [any(subject)],
  async (subject, batch) => notFinite(await evaluate(subject, batch), batch.width),
);

export const maskedInert: BatchProperty = forAll(
  "masked positions are inert",
  (subject) => [any(subject), junk],
  async (subject, batch, fill) => {
    const filled = fillMasked(batch, fill);
    const what = difference(await evaluate(subject, filled), await evaluate(subject, batch), batch.width, identical);
    return what === undefined ? behindMask(subject, filled) : `with ${show(fill)} behind the mask, ${what}`;
  },
);

export const rowOrder: BatchProperty = forAll(
  "the order of rows does not matter",
  (subject) => [any(subject), orders],
  async (subject, batch, keys) => {
    const rows = order(batch, keys);
    const want = reorder(await evaluate(subject, batch), rows, batch.width);
    const what = difference(await evaluate(subject, take(batch, rows)), want, batch.width, close);
    return what && `with rows in the order ${rows.join(", ")}, ${what}`;
  },
);

export const paddingRows: BatchProperty = forAll(
  "padding rows change nothing",
  (subject) => [any(subject), fc.integer({ min: 1, max: 2 }), junk],
  async (subject, batch, count, fill) => {
    const padded = padRows(batch, count, fill);
    const outcome = await evaluate(subject, padded);
    const what = difference(crop(outcome, padded, batch), await evaluate(subject, batch), batch.width, close);
    return what === undefined
      ? behindMask(subject, padded)
      : `with ${count} masked row${count > 1 ? "s" : ""} of ${show(fill)} more, ${what}`;
  },
);

export const paddingColumns: BatchProperty = forAll(
  "padding columns change nothing",
  (subject) => [any(subject), fc.integer({ min: 1, max: 2 }), junk],
  async (subject, batch, count, fill) => {
    const padded = padColumns(batch, count, fill);
    // The width is the default scale factor; here that of the batch counts for both.
    const step = subject.begin(batch);
    const outcome = await evaluate(subject, subject.begin(padded), step);
    const what = difference(crop(outcome, padded, batch), await evaluate(subject, step, step), batch.width, close);
    return what === undefined
      ? behindMask(subject, padded)
      : `with ${count} masked column${count > 1 ? "s" : ""} of ${show(fill)} more, ${what}`;
  },
);

export const microBatches: BatchProperty = forAll(
  "micro-batches sum to the step",
  (subject) => [any(subject), splits],
  async (subject, batch, parts) => {
    const step = subject.begin(batch);
    const rows = [0, 1, 2]
      .map((part) => [...batch.uid.keys()].filter((row) => parts[row] === part))
      .filter((own) => own.length > 0);
    const shares: Outcome[] = [];
    for (const own of rows) shares.push(await evaluate(subject, take(step, own), step));
    const what = difference(join(shares, rows, batch), await evaluate(subject, step, step), batch.width, close);
    return what && `with the micro-batches ${rows.map((own) => `[${own.join(", ")}]`).join(" ")}, ${what}`;
  },
);

export const noTokens: BatchProperty = forAll(
  "a batch without tokens gives zeros",
  (subject) => [any(subject), junk],
  async (subject, batch, fill) => {
    const empty = fillMasked(maskAll(batch), fill);
    const outcome = await evaluate(subject, empty);
    const { loss = 0 } = outcome.scalars;
    const what =
      loss !== 0
        ? `loss is ${show(loss)}, not 0`
        : ((await behindMask(subject, empty)) ?? notFinite({ ...outcome, tokens: {} }, batch.width));
    return what && `with all tokens masked and ${show(fill)} behind the mask, ${what}`;
  },
);

export const deterministic: BatchProperty = forAll(
  "the same input gives the same bits",
  (subject) => [any(subject)],
  async (subject, batch) => {
    const first = await evaluate(subject, batch);
    const what = difference(await evaluate(subject, batch), first, batch.width, identical);
    return what && `the second time, ${what}`;
  },
);

export const notWritten: BatchProperty = forAll(
  "inputs are not written",
  (subject) => [any(subject)],
  (subject, batch) =>
    using(subject, batch, async (prepared) => {
      const before = Object.entries(await prepared.snapshot());
      await prepared.run();
      const after = await prepared.snapshot();
      const changed = before.find(([name, value]) => JSON.stringify(value) !== JSON.stringify(after[name]));
      return changed && `\`${changed[0]}\` is ${JSON.stringify(after[changed[0]])} afterwards`;
    }),
);

export const noLeak: BatchProperty = forAll(
  "no tensor is left behind",
  (subject) => [any(subject)],
  async (subject, batch) => {
    const before = tf.memory().numTensors;
    await evaluate(subject, batch);
    const more = tf.memory().numTensors - before;
    return more === 0 ? undefined : `${more} more tensors are alive after a call`;
  },
);

export const declaredReads: BatchProperty = forAll(
  "only declared fields and options are read",
  (subject) => [any(subject)],
  (subject, batch) =>
    using(subject, batch, async (prepared) => {
      await prepared.run(true);
      return undefined;
    }),
);

export const declaredMetrics: BatchProperty = forAll(
  "metrics are declared",
  (subject) => [any(subject)],
  async (subject, batch) => {
    const declared = Object.keys(subject.entry.metrics ?? {});
    const matches = (name: string): boolean =>
      declared.some((own) => own === name || (own.endsWith("/*") && name.startsWith(own.slice(0, -1))));
    const { scalars } = await evaluate(subject, batch);
    const metrics = Object.keys(scalars).filter((name) => name !== "loss");
    const odd = metrics.find((name) => !matches(name));
    if (odd !== undefined) return `it reports \`${odd}\`, which is not in its \`metrics\``;
    const short = metrics.find((name) => !name.includes("/"));
    return short && `it reports \`${short}\`; a full name has a section before a slash, such as \`actor/${short}\``;
  },
);
