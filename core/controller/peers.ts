import { VerlError } from "../errors/index.ts";

/**
 * The ranks of one group among themselves. Every rank makes the same calls in the same order; a rank that is missing keeps the others
 * waiting, and when it has failed, theirs fail too.
 */
export interface Peers {
  readonly rank: number;
  readonly worldSize: number;
  /** What every rank brought to this exchange, in rank order. JSON data, arrays and batches, as in a call. */
  exchange<T>(value: T): Promise<T[]>;
  /**
   * Replaces each element by its sum over the ranks; all bring the same length. Added in rank order, so that every rank gets the same
   * bits, and so does the next run. @throws VERL_WORKER_FAILED on every rank where the arrays differ in length or type
   */
  sum(values: Float32Array | Float64Array): Promise<void>;
}

/** Number of an exchange. */
export interface Turn {
  /** Raised by each interruption, so that what was under way then is not taken for what comes after. */
  readonly generation: number;
  /** Counts the rank's exchanges of this generation from 0. */
  readonly round: number;
}

/** Brings a value to an exchange and waits for those of all ranks. */
export type Meet = (turn: Turn, value: unknown) => Promise<unknown[]>;

/** Peers that meet in any way; a transport that has shared memory overrides `sum`. */
export class MeetingPeers implements Peers {
  private generation = 0;
  private round = 0;
  private broken: VerlError | undefined;
  private readonly waiting = new Set<(error: VerlError) => void>();

  constructor(
    readonly rank: number,
    readonly worldSize: number,
    private readonly meet: Meet,
  ) {}

  exchange<T>(value: T): Promise<T[]> {
    return this.meeting(() => this.meet(this.turn(), value) as Promise<T[]>);
  }

  async sum(values: Float32Array | Float64Array): Promise<void> {
    if (this.worldSize === 1) return;
    // A copy, since the sum is written to where this rank's own share stands.
    const parts = await this.exchange(values.slice());
    requireAlike(parts.map(summandOf));
    addInOrder(values, parts);
  }

  /** A rank has failed: exchanges under way, and those that are begun before `resume`, fail. */
  interrupt(reason: string): void {
    this.broken = new VerlError("VERL_WORKER_FAILED", `Rank ${this.rank} waited for the other ranks, but ${reason}`);
    this.generation += 1;
    this.round = 0;
    for (const reject of this.waiting) reject(this.broken);
    this.waiting.clear();
  }

  /** A new call of the group begins. */
  resume(): void {
    this.broken = undefined;
  }

  protected turn(): Turn {
    return { generation: this.generation, round: this.round++ };
  }

  /** What `begin` waits for, unless an interruption comes first. */
  protected meeting<T>(begin: () => Promise<T>): Promise<T> {
    if (this.broken) return Promise.reject(this.broken);
    return new Promise<T>((resolve, reject) => {
      this.waiting.add(reject);
      begin()
        .then(resolve, reject)
        .finally(() => this.waiting.delete(reject));
    });
  }
}

/** What an array to be summed is, in words: `5 elements of a Float32Array`. */
export function summandOf(value: unknown): string {
  if (!(value instanceof Float32Array || value instanceof Float64Array)) return "something else than an array";
  return `${value.length} elements of a ${value.constructor.name}`;
}

/** @param summands what each rank brings, by rank @throws VERL_WORKER_FAILED, with the same words on every rank, where they differ */
export function requireAlike(summands: readonly string[]): void {
  const ranks = new Map<string, number[]>();
  summands.forEach((summand, rank) => ranks.set(summand, [...(ranks.get(summand) ?? []), rank]));
  if (ranks.size === 1) return;
  const brought = Array.from(ranks, ([summand, [first, ...others]]) => {
    return others.length === 0
      ? `rank ${first} brings ${summand}`
      : `ranks ${[first, ...others].join(", ")} bring ${summand}`;
  });
  throw new VerlError(
    "VERL_WORKER_FAILED",
    `The ranks cannot add up what they bring to a sum: ${brought.join("; ")}.`,
    {
      hint: "Every rank brings an array of the same length and type to the same call of peers.sum.",
    },
  );
}

/**
 * `target[i] = ((parts[0][i] + parts[1][i]) + parts[2][i]) …`, rounded to the array's type at each step, for start ≤ i < end.
 * @param target may be the first of the parts, and none of the others.
 */
export function addInOrder(
  target: Float32Array | Float64Array,
  [first, ...others]: readonly (Float32Array | Float64Array)[],
  start = 0,
  end = target.length,
): void {
  if (first !== target) target.set(first!.subarray(start, end), start);
  for (const part of others) {
    for (let at = start; at < end; at++) target[at]! += part[at]!;
  }
}

/** A rank without others. */
export const alone: Peers = new MeetingPeers(0, 1, (_, value) => Promise.resolve([value]));

interface Round {
  values: unknown[];
  missing: number;
  deliver: ((all: unknown[]) => void)[];
}

/** Where exchanges meet in the controller: collects what the ranks bring and gives all of it to each once the last has come. */
export class ExchangeHub {
  private readonly rounds = new Map<string, Round>();

  constructor(private readonly worldSize: number) {}

  /** @param deliver gets the values in rank order. */
  bring(rank: number, { generation, round }: Turn, value: unknown, deliver: (all: unknown[]) => void): void {
    const key = `${generation}/${round}`;
    const open = this.rounds.get(key) ?? {
      values: new Array<unknown>(this.worldSize),
      missing: this.worldSize,
      deliver: [],
    };
    this.rounds.set(key, open);
    open.values[rank] = value;
    open.deliver.push(deliver);
    open.missing -= 1;
    if (open.missing > 0) return;
    this.rounds.delete(key);
    for (const give of open.deliver) give(open.values);
  }

  /** Forgets what was brought so far: a rank has failed, and the others are told not to wait. */
  clear(): void {
    this.rounds.clear();
  }
}
