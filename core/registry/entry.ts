import type { JSONSchema7 } from "json-schema";

/** What every entry of every registry tells about itself; `verl list`, `verl info` and the generated docs read nothing else. */
export interface EntryMeta {
  /** One sentence. */
  readonly description: string;
  /** Link to, or title of, the paper that defines it. */
  readonly paper?: string;
  /** Other accepted spellings of the key. */
  readonly aliases?: readonly string[];
  /** Batch fields that must exist when it runs; checked before the first step. */
  readonly requires?: readonly string[];
  /**
   * JSON Schema (draft-07) of its options: `type: object`, `additionalProperties: false`, a `description` and, unless required,
   * a `default` for every property.
   */
  readonly optionsSchema?: JSONSchema7;
  /**
   * What a schema cannot say of the options, such as that two lists are of one length; asked when the config is checked, of options that
   * the schema has found right. @returns the option at fault and a sentence, or undefined.
   */
  checkOptions?(options: Readonly<Record<string, unknown>>): OptionFault | undefined;
  /** Metrics that it reports: name → meaning. */
  readonly metrics?: Readonly<Record<string, string>>;
  /** What it does otherwise than verl, and why; one row of the departures table each. */
  readonly departures?: readonly string[];
}

/** What is wrong with an option. */
export interface OptionFault {
  /** Dotted name of the option. */
  readonly option: string;
  /** What is wrong and what would be right, in a sentence. */
  readonly message: string;
}

/**
 * Entry type of each kind. Every room that owns a kind merges its contract in:
 *
 *     declare module "../registry/entry.ts" { interface EntryOf { policy_loss: PolicyLoss } }
 */
// eslint-disable-next-line @typescript-eslint/no-empty-object-type -- filled by declaration merging
export interface EntryOf {}

/** A class that the run's container constructs: every constructor parameter carries `@inject(TOKEN)`. */
export type Injectable<T> = new (...args: never[]) => T;

/** Entry of a kind whose implementations are classes. */
export interface ClassEntry<T> extends EntryMeta {
  readonly create: Injectable<T>;
}
