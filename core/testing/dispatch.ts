import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { DataProto } from "../batch/data-proto.ts";
import type { DispatchMode, RankArguments } from "../controller/index.ts";
import { isVerlError } from "../errors/index.ts";
import type { GoldenCase } from "./cases.ts";
import { contentOf } from "./content.ts";
import { argumentsOf, batchOf, groupOf, type MakeArguments, type TestedGroup } from "./dispatch-group.ts";
import type { EntrySubject } from "./entry-properties.ts";
import { forInputs, shown } from "./plain-property.ts";
import { Violation, type Property } from "./property.ts";
import { entryUnder, optionsOf } from "./subject.ts";
import { defineSuite, type Suite, type SuiteOptions } from "./suite.ts";

/** A worked example of a dispatch mode: the arguments of a call, and what the ranks get and the caller gets back. */
export type DispatchCase = GoldenCase<
  {
    readonly worldSize: number;
    readonly args: readonly unknown[];
    /** What the ranks return. Default: each its first argument. */
    readonly outputs?: readonly unknown[];
  },
  {
    /** Argument list of each rank. */
    readonly lists?: readonly (readonly unknown[])[];
    readonly result?: unknown;
    /** A part of the message with which the call is refused. */
    readonly error?: string;
  }
>;

export interface DispatchSuiteOptions extends SuiteOptions<DispatchCase> {
  /** Arguments of a call that the mode takes. Default: a batch, a list of one element a rank, or a function and a batch, as it takes them. */
  readonly args?: MakeArguments;
  /** Argument lists that the mode must refuse. Default: for modes that join batches no batch, and two of different lengths; else none. */
  readonly wrong?: (batch: DataProto, worldSize: number) => readonly (readonly unknown[])[];
}

interface DispatchSubject extends EntrySubject {
  readonly entry: DispatchMode;
  readonly args: MakeArguments | undefined;
  readonly wrong: DispatchSuiteOptions["wrong"];
}

/** One call: the rows of its batch, and a group of `shares` × `replicas` ranks, where replicas get the same share over a mesh. */
interface Call {
  readonly rows: readonly number[];
  readonly shares: number;
  readonly replicas: number;
}

const calls = fc.record<Call>({
  rows: fc.array(fc.integer({ min: -99, max: 99 }), { maxLength: 17 }),
  shares: fc.integer({ min: 1, max: 4 }),
  replicas: fc.integer({ min: 1, max: 2 }),
});

interface Sent {
  readonly group: TestedGroup;
  readonly batch: DataProto;
  readonly args: readonly unknown[];
  readonly lists: RankArguments;
}

/** Dispatches a call; undefined where the mode refuses rows that do not divide by the ranks, which it may. */
async function send({ entry, args: make }: DispatchSubject, call: Call): Promise<Sent | undefined> {
  const group = groupOf(call.shares, call.replicas);
  const batch = batchOf(call.rows);
  const args = await argumentsOf(entry, make, batch, group);
  try {
    return { group, batch, args, lists: await entry.dispatch(group, args) };
  } catch (error) {
    if (isVerlError(error) && call.rows.length % group.worldSize !== 0 && args.some((arg) => arg === batch)) return;
    throw error;
  }
}

/** What a rank does that gives its batch back. @param flags false: in a batch of its own making, without the flags of padding. */
function echo(list: readonly unknown[], flags: boolean): unknown {
  const batch = list.find((arg) => arg instanceof DataProto);
  if (!batch) throw new Violation(`it gives a rank no batch, but ${shown(list)}`);
  return flags ? batch : DataProto.fromDict({ number: batch.tensor("number") }, { place: batch.column("place") });
}

const PROPERTIES: readonly Property<DispatchSubject>[] = [
  forInputs(
    "each rank gets at most one list of arguments",
    () => calls,
    async (subject, call) => {
      const sent = await send(subject, call);
      if (!sent) return undefined;
      const { lists, group } = sent;
      if (!Array.isArray(lists) || lists.some((list) => !Array.isArray(list))) return `it gives ${shown(lists)}`;
      const got = lists.length;
      return got >= 1 && got <= group.worldSize ? undefined : `${group.worldSize} ranks get ${got} lists`;
    },
  ),
  forInputs(
    "a batch comes back row for row, without padding",
    () => calls,
    async (subject, call) => {
      if (subject.entry.joinsBatches !== true) return undefined;
      const sent = await send(subject, call);
      if (!sent) return undefined;
      const { group, batch, args, lists } = sent;
      for (const flags of [true, false]) {
        const outputs = lists.map((list) => echo(list, flags));
        const result = await subject.entry.collect(group, outputs, args, [...lists.keys()]);
        if (!(result instanceof DataProto)) return `it joins batches, and gives ${shown(result)}`;
        const how = flags ? "" : ", where ranks return batches without the flags of padding";
        if (result.length !== batch.length) return `${batch.length} rows go out and ${result.length} come back${how}`;
        if (!result.equals(batch)) return `other rows come back than went out${how}`;
      }
      return undefined;
    },
  ),
  forInputs(
    "results come back in the order of the ranks",
    () => calls,
    async (subject, call) => {
      if (subject.entry.joinsBatches === true) return undefined;
      const sent = await send(subject, call);
      if (!sent) return undefined;
      const { group, args, lists } = sent;
      const result = await subject.entry.collect(
        group,
        Array.from(lists.keys(), (rank) => [rank]),
        args,
        [...lists.keys()],
      );
      const want = group.answering(lists.length);
      const got = Array.isArray(result) ? result.flat() : result;
      return isDeepStrictEqual(got, want)
        ? undefined
        : `ranks ${want.join(", ")} return, and ${shown(got)} is what comes back`;
    },
  ),
  forInputs(
    "the same call gives the same lists, and its arguments stay as they are",
    () => calls,
    async (subject, call) => {
      const sent = await send(subject, call);
      if (!sent) return undefined;
      const { group, args, batch, lists } = sent;
      if (contentOf(batch) !== contentOf(batchOf(call.rows))) return "it changes the batch";
      const again = await subject.entry.dispatch(group, args);
      return contentOf(again) === contentOf(lists) ? undefined : `the second time it gives ${shown(again)}`;
    },
  ),
  {
    name: "wrong arguments are refused in words that name the group",
    async check({ entry, wrong }) {
      const group = groupOf(3, 1);
      const usual = entry.joinsBatches === true ? [[], [batchOf([1, 2, 3]), batchOf([1, 2])]] : [];
      for (const args of wrong?.(batchOf([1, 2, 3]), group.worldSize) ?? usual) {
        const error = await Promise.resolve()
          .then(() => entry.dispatch(group, args))
          .then(
            () => undefined,
            (reason: unknown) => reason,
          );
        const what = `the arguments ${shown(args)}`;
        if (error === undefined) throw new Violation(`it takes ${what}`);
        if (!isVerlError(error)) {
          const name = error instanceof Error ? error.name : typeof error;
          throw new Violation(`it refuses ${what} by a ${name}, which is no VerlError`);
        }
        if (!error.message.includes(group.name)) {
          throw new Violation(`it refuses ${what} without the group's name: ${error.message}`);
        }
      }
    },
  },
];

async function checkGolden({ entry }: DispatchSubject, { input, expected }: DispatchCase): Promise<void> {
  const { worldSize, args } = input;
  const group = groupOf(worldSize, 1);
  const work = async () => {
    const lists = await entry.dispatch(group, args);
    const outputs = input.outputs ?? lists.map(([first]) => first);
    return { lists, result: await entry.collect(group, outputs, args, [...outputs.keys()]) };
  };
  const { lists, result, error } = await work().then(
    (done) => ({ ...done, error: undefined }),
    (reason: unknown) => ({ lists: undefined, result: undefined, error: String(reason) }),
  );
  if (expected.error !== undefined) {
    if (error?.includes(expected.error)) return;
    throw new Violation(`it should say "${expected.error}"; ${error === undefined ? "it takes the call" : error}`);
  }
  if (error !== undefined) throw new Violation(`it refuses the call: ${error}`);
  for (const [name, got, want] of [
    ["lists", lists, expected.lists] as const,
    ["result", result, expected.result] as const,
  ]) {
    if (want === undefined || contentOf(got) === contentOf(want)) continue;
    throw new Violation(`\`${name}\` is ${shown(got)}, not ${shown(want)}`);
  }
}

/** The tests of one entry of the kind. */
export const dispatchSuite = (
  key: string,
  { args, wrong, options }: Partial<DispatchSuiteOptions>,
): Suite<DispatchSubject, DispatchCase> => ({
  kind: "dispatch",
  key,
  subject: () => {
    const { entry, key: canonical } = entryUnder("dispatch", key);
    return { kind: "dispatch", key: canonical, entry, options: optionsOf("dispatch", key, options), args, wrong };
  },
  properties: PROPERTIES,
  golden: checkGolden,
});

/**
 * Tests a dispatch mode, on up to eight ranks, over a mesh where it asks for one: a batch of any size comes back row for row and without
 * padding, or is refused where it does not divide; results keep the order of the ranks; arguments are not written to.
 *
 *     testDispatchMode("LIST_SPLIT", {
 *       cases: [{ name: "two ranks", input: { worldSize: 2, args: [["a", "b", "c"]] }, expected: { lists: [[["a", "b"]], [["c"]]] } }],
 *     });
 *
 * @throws VERL_TESTING_CASES for golden cases that prove nothing; VERL_TESTING_SETUP without a test runner.
 */
export function testDispatchMode(key: string, options: DispatchSuiteOptions): void {
  defineSuite(dispatchSuite(key, options), options);
}
