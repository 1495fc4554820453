import { MAX_PLACES } from "../config/max-places.ts";
import { VerlError } from "../errors/index.ts";
import { didYouMean } from "./group-arguments.ts";
import { kindOf } from "./kind-of.ts";
import type { Resources } from "./node-resources.ts";

/** Where one rank of a pool runs. */
export interface RankPlace {
  /** 0-based, among all ranks of the pool. */
  readonly rank: number;
  /** The pool that was asked for in the first place; parts of it share its reservation. */
  readonly root: ResourcePool;
  /** Number of the place in `root`: the bundle of its reservation. */
  readonly bundle: number;
  /** 0-based number of the machine in `root`; places with the same number are on the same machine. */
  readonly node: number;
  /** 0-based, among the pool's ranks on this machine. */
  readonly localRank: number;
  /** Ranks of the pool on this machine. */
  readonly localWorldSize: number;
}

export interface ResourcePoolOptions {
  /** For messages. Default: `pool`. */
  name?: string;
  /** Worker groups that may stand side by side in the pool, each with a process of its own in every place. Default: 10. */
  maxColocateCount?: number;
  /** What one place holds for all the groups in it: `{ CPU: 1, GPU: 1 }`. Default: one CPU. */
  perPlace?: Resources;
}

type Slot = Pick<RankPlace, "root" | "bundle" | "node">;

/** Places for ranks on one or several machines. A value: nothing is reserved until a transport spawns on it. */
export class ResourcePool {
  readonly name: string;
  readonly maxColocateCount: number;
  readonly perPlace: Resources;
  private readonly slots: readonly Slot[];

  /** @param processOnNodes ranks on each machine: `[8, 8]` are two machines of eight. @throws VERL_CONTROLLER_POOL */
  constructor(processOnNodes: readonly number[], options?: ResourcePoolOptions);
  /** @internal */
  constructor(slots: { readonly of: readonly Slot[] }, options?: ResourcePoolOptions);
  constructor(
    given: readonly number[] | { readonly of: readonly Slot[] },
    { name = "pool", maxColocateCount = 10, perPlace = { CPU: 1 }, ...unknown }: ResourcePoolOptions = {},
  ) {
    requireOptions(name, maxColocateCount, perPlace, unknown);
    this.name = name;
    this.maxColocateCount = maxColocateCount;
    this.perPlace = { ...perPlace };
    if (typeof given === "object" && given !== null && "of" in given) {
      this.slots = given.of;
      return;
    }
    if (!isNumbers(given)) {
      throw poolError(
        `The pool "${name}" is given ${kindOf(given)} in place of a list of the processes on each machine.`,
      );
    }
    const odd = given.find((count) => !Number.isSafeInteger(count) || count < 0);
    if (odd !== undefined || given.every((count) => count === 0)) {
      throw poolError(`The pool "${name}" is asked for [${given.join(", ")}] processes on its machines.`);
    }
    const places = given.reduce((sum, count) => sum + count, 0);
    if (places > MAX_PLACES) {
      throw poolError(
        `The pool "${name}" is asked for ${places} places, and has at most ${MAX_PLACES}.`,
        "A place is a rank: a thread or process of its own.",
      );
    }
    const nodes = given.flatMap((count, node) => new Array<number>(count).fill(node));
    this.slots = nodes.map((node, bundle) => ({ root: this, bundle, node }));
  }

  get worldSize(): number {
    return this.slots.length;
  }

  /** Places in rank order. */
  get places(): readonly RankPlace[] {
    // Pools may be large: one look at each place.
    const ranks = new Map<string, number>();
    const placed = this.slots.map((slot, rank) => {
      const machine = machineId(slot);
      const localRank = ranks.get(machine) ?? 0;
      ranks.set(machine, localRank + 1);
      return { ...slot, rank, localRank, machine };
    });
    return placed.map(({ machine, ...place }) => ({ ...place, localWorldSize: ranks.get(machine)! }));
  }

  /** Ranks on each machine, in order: `[8, 8]`. */
  get processOnNodes(): readonly number[] {
    return this.places.filter(({ localRank }) => localRank === 0).map(({ localWorldSize }) => localWorldSize);
  }

  /** For each rank, the number of ranks on its machine. */
  get localWorldSizeList(): readonly number[] {
    return this.places.map(({ localWorldSize }) => localWorldSize);
  }

  /** For each rank, its number among those on its machine. */
  get localRankList(): readonly number[] {
    return this.places.map(({ localRank }) => localRank);
  }

  /** The pools that this one is made of: itself, unless it is a part of another, or several merged. */
  get roots(): readonly ResourcePool[] {
    return [...new Set(this.slots.map(({ root }) => root))];
  }

  /**
   * Cuts the pool in parts that stand in its places, in order: so many parts of equal size, or parts of the given sizes. Parts may be
   * cut again. @throws VERL_CONTROLLER_POOL unless the parts come to the whole.
   */
  split(parts: number | readonly number[]): ResourcePool[] {
    const sizes = this.sizesOf(parts);
    let start = 0;
    return sizes.map((size, part) => {
      const of = this.slots.slice(start, (start += size));
      return new ResourcePool({ of }, { ...this.options, name: `${this.name}.${part}` });
    });
  }

  /** Places of each part. @throws VERL_CONTROLLER_POOL */
  private sizesOf(parts: unknown): readonly number[] {
    const { worldSize } = this;
    const refused = (wanted: string): VerlError =>
      poolError(
        `The ${worldSize} places of "${this.name}" do not make ${wanted}.`,
        `Give a number that divides ${worldSize}, or a list of sizes above 0 that come to it.`,
      );
    if (typeof parts === "number") {
      const size = worldSize / parts;
      if (!(Number.isSafeInteger(parts) && parts > 0 && Number.isSafeInteger(size))) {
        throw refused(`${parts} equal parts`);
      }
      return new Array<number>(parts).fill(size);
    }
    if (!isNumbers(parts)) throw refused(`parts by ${kindOf(parts)}`);
    const sum = parts.reduce((total, size) => total + size, 0);
    if (sum !== worldSize || parts.some((size) => !Number.isSafeInteger(size) || size < 1)) {
      throw refused(`parts of ${parts.join(", ")}`);
    }
    return parts;
  }

  /** One pool of the places of both, this one's first. @throws VERL_CONTROLLER_POOL where they differ in what a place holds. */
  merge(other: ResourcePool): ResourcePool {
    if (!((other as unknown) instanceof ResourcePool)) {
      throw poolError(`The pool "${this.name}" does not merge with ${kindOf(other)}.`, "Give another ResourcePool.");
    }
    if (this.maxColocateCount !== other.maxColocateCount || !sameAmounts(this.perPlace, other.perPlace)) {
      throw poolError(`The pools "${this.name}" and "${other.name}" do not merge: their places hold different things.`);
    }
    const taken = new Set(this.slots.map(slotId));
    if (other.slots.some((slot) => taken.has(slotId(slot)))) {
      throw poolError(`The pools "${this.name}" and "${other.name}" do not merge: they share places.`);
    }
    const of = [...this.slots, ...other.slots];
    return new ResourcePool({ of }, { ...this.options, name: `${this.name}+${other.name}` });
  }

  private get options(): ResourcePoolOptions {
    return { maxColocateCount: this.maxColocateCount, perPlace: this.perPlace };
  }
}

/** A list, of numbers as far as the types were kept. */
const isNumbers = (value: unknown): value is readonly number[] => Array.isArray(value);

const numbers = new WeakMap<ResourcePool, number>();
let pools = 0;

function numberOf(root: ResourcePool): number {
  if (!numbers.has(root)) numbers.set(root, pools++);
  return numbers.get(root)!;
}

const slotId = ({ root, bundle }: Slot): string => `${numberOf(root)}/${bundle}`;

const machineId = ({ root, node }: Slot): string => `${numberOf(root)}/${node}`;

export function poolError(message: string, hint?: string): VerlError {
  return new VerlError("VERL_CONTROLLER_POOL", message, {
    hint: hint ?? "A pool lists the ranks on each machine: [2] is one machine of two, [8, 8] two of eight.",
  });
}

const sameAmounts = (a: Resources, b: Resources): boolean =>
  Object.keys({ ...a, ...b }).every((name) => (a[name] ?? 0) === (b[name] ?? 0));

/** @throws VERL_CONTROLLER_POOL */
function requireOptions(pool: string, maxColocateCount: unknown, perPlace: unknown, unknown: object): void {
  const [strange] = Object.keys(unknown);
  if (strange !== undefined) {
    throw poolError(`The pool "${pool}" has no option "${strange}".`, `${didYouMean(strange, OPTIONS)}${TAKES}`);
  }
  if (!(Number.isSafeInteger(maxColocateCount) && Number(maxColocateCount) >= 1)) {
    throw poolError(
      `The pool "${pool}" is to hold ${shown(maxColocateCount)} worker groups side by side (maxColocateCount).`,
      "Give a whole number of at least 1.",
    );
  }
  const amounts = typeof perPlace === "object" && perPlace !== null ? Object.entries<unknown>({ ...perPlace }) : [];
  const odd = amounts.find(([, amount]) => !(Number.isFinite(amount) && Number(amount) >= 0));
  if (!odd && amounts.some(([, amount]) => Number(amount) > 0)) return;
  const holds = odd ? `${shown(odd[1])} of ${odd[0]}` : "nothing";
  throw poolError(
    `A place of the pool "${pool}" is to hold ${holds} (perPlace).`,
    "Give amounts of 0 or more by name, one of them above 0: { CPU: 1, GPU: 1 }.",
  );
}

const OPTIONS = ["name", "maxColocateCount", "perPlace"];
const TAKES = `Options of a pool: ${OPTIONS.join(", ")}. Devices are amounts of a place: perPlace: { GPU: 1 }.`;

const shown = (value: unknown): string => (typeof value === "number" ? String(value) : kindOf(value));
