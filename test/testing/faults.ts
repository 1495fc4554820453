import { describe, expect, it } from "@jest/globals";
import { definePlugin, kindInfo, provide, registerPlugin, type Entry, type Kind } from "../../core/registry/index.ts";
import type { TestRunner } from "../../core/testing/index.ts";
import { collect, failed } from "./collect.ts";

/** An entry with one fault, and how the kit tells it. */
export interface Fault<E> {
  readonly property: string;
  readonly words: string;
  readonly entry: E;
}

/** A kit of the conformance suite, with entries to try it on. */
export interface KitTest<E, Case> {
  readonly suite: (key: string, options: TestRunner & { cases: readonly Case[] }) => void;
  readonly honest: E;
  /** Golden cases that hold for the honest entry. */
  readonly cases: readonly Case[];
  /** Golden cases that do not, each with the words that tell so. */
  readonly wrongCases: readonly (readonly [words: string, Case])[];
  readonly faults: readonly Fault<E>[];
}

/**
 * Tests a kit: it lets an honest entry pass, and refuses each wrong one by the name of the property that it breaks, and each wrong golden
 * case. Each property of the kit has to have a wrong entry.
 */
export function testFaults<K extends Kind, Case extends { readonly name: string }>(
  kind: K,
  { suite, honest, cases, wrongCases, faults }: KitTest<Entry<K>, Case>,
): void {
  const entries = [honest, ...faults.map(({ entry }) => entry)];
  const keyOf = (at: number): string => `kit-${kind}-${at}`;
  const provides = entries.map((entry, at) => provide(kind, keyOf(at), entry));
  registerPlugin(definePlugin({ name: `faults-of-${kind}`, version: "1.0.0", verl: "*", provides }));
  const { title } = kindInfo(kind);

  describe(`the kit of the kind ${kind}`, () => {
    it("lets an honest entry pass, and has a wrong one for each of its properties here", async () => {
      const results = await collect((runner) => suite(keyOf(0), { ...runner, cases }));
      expect(failed(results)).toEqual([]);
      const properties = Object.keys(results).filter((name) => !name.startsWith("golden case"));
      expect([...new Set(faults.map(({ property }) => property))].sort()).toEqual(properties.sort());
    });

    it.each(faults.map(({ property, words }, at) => ({ property, words, key: keyOf(at + 1) })))(
      "refuses what breaks `$property`: $words",
      async ({ property, words, key }) => {
        const { [property]: message } = await collect((runner) => suite(key, { ...runner, cases }), [property]);
        expect(message).toContain(`The ${title} "${key}" breaks "${property}": `);
        expect(message).toContain(words);
      },
    );

    it.each(wrongCases)("refuses a golden case that does not hold: %s", async (words, one) => {
      const name = `golden case "${one.name}"`;
      const { [name]: message } = await collect((runner) => suite(keyOf(0), { ...runner, cases: [one] }), [name]);
      expect(message).toContain(`The ${title} "${keyOf(0)}" breaks "${name}": `);
      expect(message).toContain(words);
    });
  });
}

/** The faults that an entry of any kind can have in its own data, and registration does not see. */
export const faultsOfData = <E extends object>(entry: E): Fault<E>[] => [
  {
    property: "it describes itself in sentences",
    words: '`description` is "words only", not a sentence',
    entry: { ...entry, description: "words only" },
  },
  {
    property: "options are documented and checked",
    words: "the option `inner.bare` has no description",
    entry: {
      ...entry,
      optionsSchema: {
        type: "object",
        additionalProperties: false,
        properties: { inner: { type: "object", default: {}, description: "More.", properties: { bare: {} } } },
      },
    },
  },
];
