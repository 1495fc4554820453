import { afterEach, beforeEach, expect, it, jest } from "@jest/globals";
import fc from "fast-check";
import type { AdvantageEstimator } from "../../core/algorithm/advantage-estimator.ts";
import { isVerlError } from "../../core/errors/index.ts";
import { registries } from "../../core/registry/index.ts";
import { clearRegistries, estimator } from "./helpers.ts";

const registry = registries.adv_estimator;
const NAMES = ["a", "b", "c", "d", "e"];
const name = fc.constantFrom(...NAMES);

/** Few entries under few names, so that most sequences hold repetitions and conflicts. */
const POOL = [undefined, undefined, "a", "c"].map((alias) =>
  estimator(alias === undefined ? {} : { aliases: [alias] }),
);
const entry = fc.constantFrom(...POOL);

beforeEach(() => void jest.spyOn(process.stderr, "write").mockReturnValue(true));
afterEach(() => void jest.restoreAllMocks());

function attempt(key: string, own: AdvantageEstimator, override = false): string {
  try {
    registry.register(key, own, { override });
    return "done";
  } catch (error) {
    if (!isVerlError(error)) throw error;
    return error.code;
  }
}

const snapshot = () => NAMES.map((one) => registry.get(one));

it("accepts exactly what the rule accepts, for any sequence of registrations", () => {
  fc.assert(
    fc.property(fc.array(fc.record({ key: name, entry })), (sequence) => {
      clearRegistries();
      const holders = new Map<string, { key: string; entry: AdvantageEstimator }>();
      for (const { key, entry: own } of sequence) {
        const holder = holders.get(key);
        const spellings = [key, ...(own.aliases ?? [])];
        const again = holder?.key === key && holder.entry === own;
        const free = spellings.every((spelling) => !holders.has(spelling));
        expect(attempt(key, own)).toBe(again || free ? "done" : "VERL_REGISTRY_KEY_TAKEN");
        if (free) for (const spelling of spellings) holders.set(spelling, { key, entry: own });
      }
      expect(snapshot()).toEqual(NAMES.map((one) => holders.get(one)?.entry));
      expect(registry.keys()).toEqual([...new Set([...holders.values()].map(({ key }) => key))].sort());
    }),
  );
});

it("answers every lookup alike, in whatever order entries without conflict came", () => {
  const shuffled = fc
    .uniqueArray(name)
    .chain((keys) => fc.tuple(fc.constant(keys), fc.shuffledSubarray(keys, { minLength: keys.length })));
  fc.assert(
    fc.property(shuffled, ([keys, order]) => {
      const entries = new Map(keys.map((key) => [key, estimator()]));
      const lookups = [keys, order].map((sequence) => {
        clearRegistries();
        for (const key of sequence) expect(attempt(key, entries.get(key)!)).toBe("done");
        return { found: snapshot(), keys: registry.keys() };
      });
      expect(lookups[0]).toEqual(lookups[1]);
    }),
  );
});

it("is changed by no failed registration, and never leads to an entry that is not there, overrides or not", () => {
  fc.assert(
    fc.property(fc.array(fc.record({ key: name, entry, override: fc.boolean() })), (sequence) => {
      clearRegistries();
      for (const { key, entry: own, override } of sequence) {
        const before = snapshot();
        if (attempt(key, own, override) === "done") expect(registry.get(key)).toBe(own);
        else expect(snapshot()).toEqual(before);
        for (const one of registry.keys()) expect(registry.find(one).key).toBe(one);
      }
    }),
  );
});
