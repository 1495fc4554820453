/** A seeded stream of random numbers. Streams are named, independent, and resume from `state()`. */
export interface Rng {
  /** Uniform 32-bit integer. */
  nextU32(): number;
  /** Uniform in [0, 1) with 24 bits, exact in float32. */
  uniform(): number;
  /** Standard normal. */
  normal(): number;
  /** Uniform integer in [0, bound). */
  below(bound: number): number;
  /** Fisher–Yates, in place. */
  shuffle<T extends { length: number; [index: number]: unknown }>(items: T): T;
  /** An independent stream named within this one. */
  stream(name: string): Rng;
  state(): readonly number[];
  restore(state: readonly number[]): void;
}
