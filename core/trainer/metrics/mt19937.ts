const SIZE = 624;
const SHIFT = 397;

/**
 * The Mersenne Twister as NumPy seeds and draws from it (`numpy.random.RandomState(seed)`), so that bootstrap metrics and the choice
 * of logged samples equal verl's. For nothing else: the run's randomness comes from `Rng`.
 */
export class Mt19937 {
  readonly #state = new Uint32Array(SIZE);
  #next = SIZE;

  constructor(seed: number) {
    this.#state[0] = seed;
    for (let i = 1; i < SIZE; i++) {
      const previous = this.#state[i - 1]!;
      this.#state[i] = Math.imul(1812433253, previous ^ (previous >>> 30)) + i;
    }
  }

  nextU32(): number {
    if (this.#next === SIZE) this.#refill();
    let word = this.#state[this.#next++]!;
    word ^= word >>> 11;
    word ^= (word << 7) & 0x9d2c5680;
    word ^= (word << 15) & 0xefc60000;
    return (word ^ (word >>> 18)) >>> 0;
  }

  /** Uniform integer in [0, bound), by rejection under the smallest mask of ones; a bound of 1 draws nothing. */
  below(bound: number): number {
    if (bound <= 1) return 0;
    const mask = 0xffffffff >>> Math.clz32(bound - 1);
    for (;;) {
      const candidate = (this.nextU32() & mask) >>> 0;
      if (candidate < bound) return candidate;
    }
  }

  /** `RandomState.shuffle` of a list, in place. */
  shuffle<T>(items: T[]): T[] {
    for (let i = items.length - 1; i > 0; i--) {
      const j = this.below(i + 1);
      [items[i], items[j]] = [items[j]!, items[i]!];
    }
    return items;
  }

  #refill(): void {
    const state = this.#state;
    for (let i = 0; i < SIZE; i++) {
      const word = (state[i]! & 0x80000000) | (state[(i + 1) % SIZE]! & 0x7fffffff);
      state[i] = state[(i + SHIFT) % SIZE]! ^ (word >>> 1) ^ (word & 1 ? 0x9908b0df : 0);
    }
    this.#next = 0;
  }
}
