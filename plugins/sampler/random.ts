import { inject, RNG, type Rng, type Sampler } from "verl";

/** A new random order each epoch, which the seed and the epoch's number settle: there is no state to lose. */
export class RandomSampler implements Sampler {
  constructor(@inject(RNG) private readonly rng: Rng) {}

  order(epoch: number, length: number): Int32Array {
    const rows = Int32Array.from({ length }, (_, index) => index);
    return this.rng.stream(`data/order/${epoch}`).shuffle(rows);
  }

  saveState(): null {
    return null;
  }

  loadState(): void {}
}
