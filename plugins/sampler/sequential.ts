import type { Sampler } from "verl";

/** Rows in file order, every epoch alike. */
export class SequentialSampler implements Sampler {
  order(_epoch: number, length: number): Int32Array {
    return Int32Array.from({ length }, (_, index) => index);
  }

  saveState(): null {
    return null;
  }

  loadState(): void {}
}
