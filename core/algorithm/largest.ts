import { kthLargest } from "./kth-largest.ts";

/** The k largest of numbers that are shown one by one. Most of many are smaller than what it holds already, and cost one comparison. */
export class Largest {
  readonly #k: number;
  readonly #values: Float64Array;
  #held = 0;
  /** The k-th largest when the room was last cleared: no number up to it can come in. NaN at first: any can. */
  #bar = NaN;

  /** @param k from 1 to `total`. @param total how many numbers will be shown. None may be NaN. */
  constructor(k: number, total: number) {
    this.#k = k;
    this.#values = new Float64Array(Math.min(2 * k, total));
  }

  /** @returns whether it may be one of the k largest: false for most of many. */
  show(value: number): boolean {
    if (value <= this.#bar) return false;
    if (this.#held === this.#values.length) {
      this.#bar = kthLargest(this.#values, this.#k);
      this.#held = this.#k;
      if (value <= this.#bar) return false;
    }
    this.#values[this.#held++] = value;
    return true;
  }

  /** When all were shown: the k-th largest of them, and how many of the k are equal to it. */
  last(): { value: number; ties: number } {
    const value = kthLargest(this.#values.subarray(0, this.#held), this.#k);
    const ties = this.#values.subarray(0, this.#k).filter((other) => other === value).length;
    return { value, ties };
  }
}
