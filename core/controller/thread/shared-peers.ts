import type { MessagePort } from "node:worker_threads";
import { copyOf, nothingLive, pack, unpack } from "../payload.ts";
import { addInOrder, MeetingPeers, requireAlike, summandOf, type Turn } from "../peers.ts";
import type { Packed } from "../rank-protocol.ts";

/** What a rank brings to an exchange: packed data, or memory that all of them see. */
interface Brought {
  readonly turn: Turn;
  readonly packed?: Packed;
  readonly blobs?: readonly Uint8Array[];
  readonly memory?: SharedArrayBuffer;
  /** Where it begins a sum: what the rank adds to it, in words. */
  readonly summand?: string;
  /** Few elements of a sum, as they are. */
  readonly values?: Float32Array | Float64Array;
}

/** Fewer elements are sent as they are: a barrier costs more than they do. */
const SMALL = 4096;

/** Sums alternate between two, so that a rank may write the next one while another still reads the last. */
const SEGMENTS = 2;

interface Segment {
  /** Every rank's memory, by rank. */
  readonly memory: readonly SharedArrayBuffer[];
  readonly bytes: number;
}

/** Ranks of one process: each has a port to each other, and large sums are made in memory that they share. */
export class SharedPeers extends MeetingPeers {
  private readonly arrived = new Map<string, Map<number, Brought>>();
  private readonly wake = new Map<string, () => void>();
  private segments: (Segment | undefined)[] = new Array<undefined>(SEGMENTS);
  private sums = 0;

  constructor(
    rank: number,
    worldSize: number,
    private readonly ports: readonly (MessagePort | null)[],
  ) {
    super(rank, worldSize, async (turn, value) => {
      const { packed, blobs } = pack(value, "an exchange between ranks", nothingLive);
      // `postMessage` would copy all of the memory that a view is a view of.
      const all = await this.swap({ turn, packed, blobs: blobs.map(copyOf) });
      return all.map(({ packed: from, blobs: bytes = [] }, peer) =>
        peer === rank ? value : unpack(from, bytes, nothingLive),
      );
    });
    ports.forEach((port, peer) => {
      port?.on("message", (brought: Brought) => this.take(peer, brought));
      // The channel to the controller decides how long the thread lives.
      port?.unref();
    });
  }

  override sum(values: Float32Array | Float64Array): Promise<void> {
    if (this.worldSize === 1) return super.sum(values);
    return this.meeting(() => (values.length < SMALL ? this.sumSent(values) : this.sumShared(values)));
  }

  override interrupt(reason: string): void {
    super.interrupt(reason);
    this.arrived.clear();
    this.wake.clear();
    this.forgetSegments();
  }

  private forgetSegments(): void {
    this.segments = new Array<undefined>(SEGMENTS);
    this.sums = 0;
  }

  /** Every rank gets all and adds them up itself. */
  private async sumSent(values: Float32Array | Float64Array): Promise<void> {
    const own = values.slice();
    const all = await this.swapSummands({ turn: this.turn(), summand: summandOf(own), values: own });
    addInOrder(
      values,
      all.map((brought) => brought.values!),
    );
  }

  /** Each rank adds up its own share of the elements, then reads the others'. */
  private async sumShared(values: Float32Array | Float64Array): Promise<void> {
    const { rank, worldSize } = this;
    const summand = summandOf(values);
    const segment = await this.segment(this.sums++ % SEGMENTS, values.byteLength, summand);
    const Type = values.constructor as Float32ArrayConstructor;
    const parts = segment.memory.map((memory) => new Type(memory, 0, values.length));
    parts[rank]!.set(values);
    await this.swapSummands({ turn: this.turn(), summand });
    const [sum] = parts;
    const share = Math.ceil(values.length / worldSize);
    addInOrder(sum!, parts, Math.min(rank * share, values.length), Math.min((rank + 1) * share, values.length));
    await this.swap({ turn: this.turn() });
    values.set(sum!);
  }

  private async segment(index: number, bytes: number, summand: string): Promise<Segment> {
    const known = this.segments[index];
    if (known && known.bytes >= bytes) return known;
    const own = new SharedArrayBuffer(Math.ceil(bytes / 8) * 8);
    const all = await this.swapSummands({ turn: this.turn(), summand, memory: own });
    const made = { memory: all.map(({ memory }) => memory!), bytes: own.byteLength };
    this.segments[index] = made;
    return made;
  }

  /**
   * As `swap`, for what begins a sum. Ranks whose arrays differ learn it here, all of them at the same turn, and what they remember of
   * each other's memory may no longer agree.
   */
  private async swapSummands(own: Brought): Promise<Brought[]> {
    const all = await this.swap(own);
    try {
      requireAlike(all.map(({ summand = summandOf(undefined) }) => summand));
    } catch (error) {
      this.forgetSegments();
      throw error;
    }
    return all;
  }

  /** Gives every other rank what this one brings, and waits for theirs. */
  private swap(own: Brought): Promise<Brought[]> {
    const key = keyOf(own.turn);
    for (const port of this.ports) port?.postMessage(own);
    const all = this.at(key);
    all.set(this.rank, own);
    return new Promise((resolve) => {
      const look = (): void => {
        if (all.size < this.worldSize) return;
        this.arrived.delete(key);
        this.wake.delete(key);
        resolve(Array.from({ length: this.worldSize }, (_, peer) => all.get(peer)!));
      };
      this.wake.set(key, look);
      look();
    });
  }

  private take(peer: number, brought: Brought): void {
    const key = keyOf(brought.turn);
    this.at(key).set(peer, brought);
    this.wake.get(key)?.();
  }

  private at(key: string): Map<number, Brought> {
    const known = this.arrived.get(key) ?? new Map<number, Brought>();
    this.arrived.set(key, known);
    return known;
  }
}

const keyOf = ({ generation, round }: Turn): string => `${generation}/${round}`;
