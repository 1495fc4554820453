/**
 * The ranks of one group among themselves. Every rank makes the same calls in the same order; a rank that is missing keeps the others
 * waiting until its group fails.
 */
export interface Peers {
  readonly rank: number;
  readonly worldSize: number;
  /** What every rank brought to this exchange, in rank order. JSON data, arrays and batches, as in a call. */
  exchange<T>(value: T): Promise<T[]>;
  /**
   * Replaces each element by its sum over the ranks; all bring the same length. Added in rank order, so that every rank gets the same
   * bits, and so does the next run.
   */
  sum(values: Float32Array | Float64Array): Promise<void>;
}

/** How ranks that share no memory reach each other: `exchange` alone. */
export type Exchange = (value: unknown) => Promise<unknown[]>;

export function peersOver(rank: number, worldSize: number, exchange: Exchange): Peers {
  return {
    rank,
    worldSize,
    exchange: (value) => exchange(value) as Promise<never[]>,
    async sum(values) {
      if (worldSize === 1) return;
      const all = (await exchange(values)) as (typeof values)[];
      addInOrder(values, all);
    },
  };
}

/** `target[i] = ((parts[0][i] + parts[1][i]) + parts[2][i]) …`, rounded to the array's type at each step. */
export function addInOrder(
  target: Float32Array | Float64Array,
  parts: readonly (Float32Array | Float64Array)[],
  start = 0,
  end = target.length,
): void {
  const [first, ...others] = parts;
  if (first !== target) target.set(first!.subarray(start, end), start);
  for (const part of others) {
    for (let at = start; at < end; at++) target[at]! += part[at]!;
  }
}

/** A rank without others. */
export const alone: Peers = peersOver(0, 1, (value) => Promise.resolve([value]));

/** The controller's side of exchanges: collects what the ranks bring and gives all of it to each once the last has come. */
export class ExchangeHub {
  private readonly rounds = new Map<
    number,
    { values: unknown[]; missing: number; deliver: ((all: unknown[]) => void)[] }
  >();

  constructor(private readonly worldSize: number) {}

  /** @param round counts each rank's exchanges from 0. @param deliver gets the values in rank order. */
  bring(rank: number, round: number, value: unknown, deliver: (all: unknown[]) => void): void {
    let open = this.rounds.get(round);
    if (!open) {
      open = { values: new Array<unknown>(this.worldSize), missing: this.worldSize, deliver: [] };
      this.rounds.set(round, open);
    }
    open.values[rank] = value;
    open.deliver.push(deliver);
    open.missing -= 1;
    if (open.missing > 0) return;
    this.rounds.delete(round);
    for (const give of open.deliver) give(open.values);
  }
}
