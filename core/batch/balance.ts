import { VerlError } from "../errors/verl-error.ts";
import { requirePositive } from "./row-ids.ts";

/** Row numbers of each part. */
export type Partitions = number[][];

/** Cost of a sequence for a decoder: one term for the dense layers, one for attention, as verl weighs them. */
export function workload(length: number): number {
  return 24_576 * length + length * length;
}

/**
 * Spreads values over `k` parts with nearly equal sums: the largest differencing method of Karmarkar and Karp, "The Differencing
 * Method of Set Partitioning", 1982. Two partial partitions with the largest spread merge, largest set with smallest, until one is left.
 * @param equalSize parts have the same number of values, or differ by one where `k` does not divide the count.
 * @returns parts in decreasing order of sum, each with its row numbers in the order of merging.
 * @throws VERL_BATCH_BALANCE when there are fewer values than parts.
 */
export function karmarkarKarp(values: ArrayLike<number>, k: number, equalSize: boolean): Partitions {
  requireEnough(values.length, k);
  const items: Item[] = Array.from(values, (value, index) => ({ index, value }));
  items.sort((a, b) => a.value - b.value || a.index - b.index);
  const heap = new StateHeap();
  if (equalSize) {
    // Empty places join the smallest values' group, so each part has at most one of them.
    const places: (Item | undefined)[] = [...new Array<undefined>((k - (items.length % k)) % k), ...items];
    for (let i = 0; i < places.length; i += k) heap.push(new State(places.slice(i, i + k), k));
  } else {
    for (const item of items) heap.push(new State([item], k));
  }
  while (heap.size > 1) heap.push(heap.pop().merge(heap.pop()));
  return heap.pop().sets.map((set) => set.items.map((item) => item.index));
}

/**
 * In the given order, each value joins the part with the smallest sum (the first of equals). Faster and less even than `karmarkarKarp`.
 * @param equalSize parts have the same number of values, or differ by one.
 */
export function greedyPartition(values: ArrayLike<number>, k: number, equalSize: boolean): Partitions {
  requireEnough(values.length, k);
  const parts: Partitions = Array.from({ length: k }, () => []);
  const sums = new Float64Array(k);
  // A bias above any sum makes the number of members decide first.
  const bias = equalSize ? Array.from(values).reduce((sum, value) => sum + value, 1) : 0;
  for (let i = 0; i < values.length; i++) {
    let smallest = 0;
    for (let part = 1; part < k; part++) if (sums[part]! < sums[smallest]!) smallest = part;
    parts[smallest]!.push(i);
    sums[smallest]! += values[i]! + bias;
  }
  return parts;
}

/** `karmarkarKarp` with the row numbers of each part in ascending order. */
export function seqlenBalancedPartitions(values: ArrayLike<number>, k: number, equalSize: boolean): Partitions {
  return karmarkarKarp(values, k, equalSize).map((part) => part.sort((a, b) => a - b));
}

/**
 * Order of rows so that `ranks` consecutive equal chunks have nearly equal work; inside a chunk the small rows lie at both ends,
 * where a pipeline fills and drains.
 */
export function balancedOrder(lengths: ArrayLike<number>, ranks: number): Int32Array {
  const work = Array.from(lengths, workload);
  const parts = seqlenBalancedPartitions(work, ranks, true);
  return Int32Array.from(
    // With uneven parts the longer ones come first, as `chunk` cuts them.
    parts
      .sort((a, b) => b.length - a.length)
      .flatMap((part) => {
        const ascending = part.sort((a, b) => work[a]! - work[b]! || a - b);
        return [...ascending.filter((_, i) => i % 2 === 0), ...ascending.filter((_, i) => i % 2 === 1).reverse()];
      }),
  );
}

/** `result[order[i]] = i`: undoes a reorder. */
export function inverseOrder(order: ArrayLike<number>): Int32Array {
  const inverse = new Int32Array(order.length);
  for (let i = 0; i < order.length; i++) inverse[order[i]!] = i;
  return inverse;
}

interface Item {
  readonly index: number;
  readonly value: number;
}

class ItemSet {
  sum = 0;
  readonly items: Item[] = [];

  add(item: Item): void {
    this.items.push(item);
    this.sum += item.value;
  }

  /** By sum, then by count, then by members: a total order, so that results do not depend on the heap. */
  compare(other: ItemSet): number {
    const bySize = this.sum - other.sum || this.items.length - other.items.length;
    if (bySize !== 0) return bySize;
    for (let i = 0; i < this.items.length; i++) {
      const byItem = this.items[i]!.index - other.items[i]!.index || this.items[i]!.value - other.items[i]!.value;
      if (byItem !== 0) return byItem;
    }
    return 0;
  }
}

/** A partition of some of the items in k sets, largest first. */
class State {
  readonly sets: ItemSet[];

  constructor(items: readonly (Item | undefined)[], k: number) {
    this.sets = Array.from({ length: k }, () => new ItemSet());
    items.forEach((item, i) => item && this.sets[i]!.add(item));
    this.#sort();
  }

  get spread(): number {
    return this.sets[0]!.sum - this.sets[this.sets.length - 1]!.sum;
  }

  merge(other: State): this {
    this.sets.forEach((set, i) => other.sets[other.sets.length - 1 - i]!.items.forEach((item) => set.add(item)));
    this.#sort();
    return this;
  }

  /** Larger spread first, then the larger largest set. */
  before(other: State): boolean {
    return this.spread !== other.spread ? this.spread > other.spread : this.sets[0]!.compare(other.sets[0]!) > 0;
  }

  #sort(): void {
    this.sets.sort((a, b) => b.compare(a));
  }
}

/** A binary heap with the state of the largest spread on top. */
class StateHeap {
  readonly #states: State[] = [];

  get size(): number {
    return this.#states.length;
  }

  push(state: State): void {
    const states = this.#states;
    let at = states.push(state) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!state.before(states[parent]!)) break;
      states[at] = states[parent]!;
      at = parent;
    }
    states[at] = state;
  }

  pop(): State {
    const states = this.#states;
    const top = states[0]!;
    const last = states.pop()!;
    if (states.length === 0) return top;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= states.length) break;
      if (child + 1 < states.length && states[child + 1]!.before(states[child]!)) child++;
      if (!states[child]!.before(last)) break;
      states[at] = states[child]!;
      at = child;
    }
    states[at] = last;
    return top;
  }
}

function requireEnough(count: number, k: number): void {
  requirePositive("The number of parts", k);
  if (count < k) {
    throw new VerlError("VERL_BATCH_BALANCE", `${count} rows cannot fill ${k} parts.`, {
      hint: "Use fewer parts, or pad the batch first.",
      details: { rows: count, parts: k },
    });
  }
}
