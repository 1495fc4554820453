import { createHash } from "node:crypto";
import { xoroshiro128plusFromState } from "pure-rand/generator/xoroshiro128plus";
import { VerlError } from "../errors/verl-error.ts";

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
  /** An independent stream named within this one. It depends on the seed and the names alone, not on what was drawn. */
  stream(name: string): Rng;
  /** Four signed 32-bit integers, ready for JSON. */
  state(): readonly number[];
  restore(state: readonly number[]): void;
}

type Generator = ReturnType<typeof xoroshiro128plusFromState>;

const U32 = 2 ** 32;
const U24 = 2 ** 24;

/**
 * The root stream of a seed: xoroshiro128+, started at the SHA-256 of the seed and of the stream's names, so that neighbouring seeds
 * and names are unrelated.
 * @param seed any number; the same seed gives the same stream on every machine.
 */
export function createRng(seed: number): Rng {
  return new XoroshiroRng([String(seed)]);
}

class XoroshiroRng implements Rng {
  private generator: Generator;

  constructor(private readonly path: readonly string[]) {
    const digest = createHash("sha256").update(JSON.stringify(path)).digest();
    this.generator = xoroshiro128plusFromState([0, 4, 8, 12].map((offset) => digest.readInt32LE(offset)));
  }

  nextU32(): number {
    return this.generator.next() >>> 0;
  }

  uniform(): number {
    return (this.generator.next() >>> 8) / U24;
  }

  // Box–Muller. The second value is thrown away: a stream with nothing in hand has a state of four integers.
  normal(): number {
    const radius = Math.sqrt(-2 * Math.log(1 - this.uniform()));
    return radius * Math.cos(2 * Math.PI * this.uniform());
  }

  below(bound: number): number {
    if (!Number.isInteger(bound) || bound < 1 || bound > U32) {
      throw new RangeError(`below(${bound}): the bound must be an integer from 1 to 2^32.`);
    }
    // Values past the last whole multiple would favour small results.
    const limit = U32 - (U32 % bound);
    let value = this.nextU32();
    while (value >= limit) value = this.nextU32();
    return value % bound;
  }

  shuffle<T extends { length: number; [index: number]: unknown }>(items: T): T {
    for (let last = items.length - 1; last > 0; last -= 1) {
      const other = this.below(last + 1);
      const held = items[last];
      items[last] = items[other];
      items[other] = held;
    }
    return items;
  }

  stream(name: string): Rng {
    return new XoroshiroRng([...this.path, name]);
  }

  state(): readonly number[] {
    return [...this.generator.getState()];
  }

  restore(state: readonly number[]): void {
    if (state.length !== 4 || !state.every((word) => (word | 0) === word) || state.every((word) => word === 0)) {
      throw new VerlError("VERL_RNG_STATE", `[${state.join(", ")}] is not the state of a random stream.`, {
        hint: "A state is four 32-bit integers, not all zero, as `state()` gave them. Resume from another checkpoint.",
      });
    }
    this.generator = xoroshiro128plusFromState(state);
  }
}
