import type { MessagePort } from "node:worker_threads";
import { CallLanes, type GroupCall } from "../group-call.ts";
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

/** What the ranks have brought to the exchanges of one call. */
interface Table {
  readonly rounds: Map<number, Round>;
  /** The call exchanges no more. */
  closed: boolean;
  /** Large sums that the call has begun. */
  sums: number;
}

interface Round {
  /** By rank. */
  readonly brought: Map<number, Brought>;
  /** Told of each that comes, once this rank has brought its own. */
  look?: () => void;
}

/** Ranks of one process: each has a port to each other, and large sums are made in memory that they share. */
export class SharedPeers extends MeetingPeers {
  private readonly tables = new CallLanes<Table>(() => ({ rounds: new Map(), closed: false, sums: 0 }));
  /** Segments of each lane: calls that overlap add up in memory of their own, and those of a lane use the same one after the other. */
  private readonly segments = new Map<number, Segment[]>();

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
    return this.meeting((next, call) =>
      values.length < SMALL ? this.sumSent(values, next) : this.sumShared(values, next, call),
    );
  }

  override interrupt(reason: string, call?: GroupCall): void {
    super.interrupt(reason, call);
    if (call) this.segments.delete(call.lane);
    else this.segments.clear();
  }

  protected override forget(call?: GroupCall): void {
    for (const table of call ? [this.tables.at(call)] : this.tables.all()) {
      if (!table) continue;
      table.closed = true;
      table.rounds.clear();
    }
  }

  /** Every rank gets all and adds them up itself. */
  private async sumSent(values: Float32Array | Float64Array, next: () => Turn): Promise<void> {
    const own = values.slice();
    const all = await this.swapSummands({ turn: next(), summand: summandOf(own), values: own });
    addInOrder(
      values,
      all.map((brought) => brought.values!),
    );
  }

  /** Each rank adds up its own share of the elements, then reads the others'. */
  private async sumShared(values: Float32Array | Float64Array, next: () => Turn, call: GroupCall): Promise<void> {
    const { rank, worldSize } = this;
    const summand = summandOf(values);
    const index = this.tables.at(call)!.sums++ % SEGMENTS;
    const segment = await this.segment(call.lane, index, values.byteLength, summand, next);
    const Type = values.constructor as Float32ArrayConstructor;
    const parts = segment.memory.map((memory) => new Type(memory, 0, values.length));
    parts[rank]!.set(values);
    await this.swapSummands({ turn: next(), summand });
    const [sum] = parts;
    const share = Math.ceil(values.length / worldSize);
    addInOrder(sum!, parts, Math.min(rank * share, values.length), Math.min((rank + 1) * share, values.length));
    await this.swap({ turn: next() });
    values.set(sum!);
  }

  private async segment(
    lane: number,
    index: number,
    bytes: number,
    summand: string,
    next: () => Turn,
  ): Promise<Segment> {
    const known = this.segments.get(lane)?.[index];
    if (known && known.bytes >= bytes) return known;
    const own = new SharedArrayBuffer(Math.ceil(bytes / 8) * 8);
    const all = await this.swapSummands({ turn: next(), summand, memory: own });
    const made = { memory: all.map(({ memory }) => memory!), bytes: own.byteLength };
    const segments = this.segments.get(lane) ?? [];
    this.segments.set(lane, segments);
    segments[index] = made;
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
      this.segments.delete(own.turn.lane);
      throw error;
    }
    return all;
  }

  /** Gives every other rank what this one brings, and waits for theirs; for ever, where the call is interrupted. */
  private swap(own: Brought): Promise<Brought[]> {
    for (const port of this.ports) port?.postMessage(own);
    return new Promise((resolve) => {
      const table = this.tables.at(own.turn);
      if (!table || table.closed) return;
      const { rounds } = table;
      const round = roundOf(rounds, own.turn);
      round.brought.set(this.rank, own);
      round.look = (): void => {
        if (round.brought.size < this.worldSize) return;
        rounds.delete(own.turn.round);
        resolve(Array.from({ length: this.worldSize }, (_, peer) => round.brought.get(peer)!));
      };
      round.look();
    });
  }

  private take(peer: number, brought: Brought): void {
    const table = this.tables.at(brought.turn);
    // Who brings something to a call that has ended here has not heard of it yet.
    if (!table || table.closed) return;
    const round = roundOf(table.rounds, brought.turn);
    round.brought.set(peer, brought);
    round.look?.();
  }
}

function roundOf(rounds: Map<number, Round>, { round }: Turn): Round {
  const known = rounds.get(round) ?? { brought: new Map<number, Brought>() };
  rounds.set(round, known);
  return known;
}
