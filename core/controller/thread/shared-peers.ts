import type { MessagePort } from "node:worker_threads";
import { CallLanes, type GroupCall } from "../group-call.ts";
import { copyOf, nothingLive, pack, unpack } from "../payload.ts";
import { addInOrder, isSummand, MeetingPeers, requireAlike, summandOf, type CallKey, type Turn } from "../peers.ts";
import type { Packed } from "../rank-protocol.ts";

/** What a rank brings to an exchange: packed data, or memory that all of them see. */
interface Share {
  readonly turn: Turn;
  readonly packed?: Packed;
  readonly blobs?: readonly Uint8Array[];
  /** Holds what the rank adds to a large sum. */
  readonly memory?: SharedArrayBuffer;
  /** Where it begins a sum: what the rank adds to it, in words. */
  readonly summand?: string;
  /** Few elements of a sum, as they are. */
  readonly values?: Float32Array | Float64Array;
}

/** Fewer elements are sent as they are: a barrier costs more than they do. */
const SMALL = 4096;

/** Sums come one after the other, and alternate between two, so that a rank may write the next one while another still reads the last. */
const MEMORIES = 2;

/** Says that the sender has ended its part of a call without an exchange to which the receiver has come. */
interface Leave {
  readonly left: CallKey;
}

/** What the ranks have brought to the exchanges of one call. */
interface Table {
  readonly rounds: Map<number, Round>;
  /** The call exchanges no more. */
  closed: boolean;
  /** This rank has ended its part. */
  left: boolean;
  /** Rounds to which this rank has brought something. */
  readonly sent: Set<number>;
  /** Large sums that the call has begun. */
  sums: number;
  /** The end of the last of them. */
  summed: Promise<unknown> | undefined;
}

interface Round {
  /** By rank. */
  readonly brought: Map<number, Share>;
  /** Told of each that comes, once this rank has brought its own. */
  look?: () => void;
}

/** Ranks of one process: each has a port to each other, and large sums are made in memory that they share. */
export class SharedPeers extends MeetingPeers {
  private readonly tables = new CallLanes<Table>(() => ({
    rounds: new Map(),
    closed: false,
    left: false,
    sent: new Set(),
    sums: 0,
    summed: undefined,
  }));
  /** This rank's memories for the sums of each lane: calls that overlap add up apart, and those of a lane one after the other. */
  private readonly memories = new Map<number, SharedArrayBuffer[]>();

  constructor(
    rank: number,
    worldSize: number,
    private readonly ports: readonly (MessagePort | null)[],
  ) {
    super(rank, worldSize, async (next, value) => {
      const { packed, blobs } = pack(value, "an exchange between ranks", nothingLive);
      // `postMessage` would copy all of the memory that a view is a view of.
      const all = await this.swap({ turn: next(), packed, blobs: blobs.map(copyOf) });
      return all.map(({ packed: from, blobs: bytes = [] }, peer) =>
        peer === rank ? value : unpack(from, bytes, nothingLive),
      );
    });
    ports.forEach((port, peer) => {
      port?.on("message", (message: Share | Leave) => {
        if ("left" in message) this.missed(peer, message.left);
        else this.take(peer, message);
      });
      // The channel to the controller decides how long the thread lives.
      port?.unref();
    });
  }

  override sum(values: Float32Array | Float64Array): Promise<void> {
    if (this.worldSize === 1 || !isSummand(values)) return super.sum(values);
    return this.meeting((next, call) => {
      const turn = next();
      if (values.length < SMALL) return this.sumSent(values, turn);
      const table = this.tables.at(call)!;
      const add = (): Promise<void> => this.sumShared(values, turn, this.memoryFor(call, values.byteLength));
      // Those that a call begins at once take their turn: they use the same memory.
      const sum = table.summed ? table.summed.then(add) : add();
      table.summed = sum.catch(() => undefined);
      return sum;
    });
  }

  protected override leave(call: GroupCall): void {
    const table = this.tables.at(call);
    if (!table) return;
    table.left = true;
    for (const [round, { brought }] of table.rounds) {
      if (!table.sent.has(round)) for (const peer of brought.keys()) this.tellLeft(peer, call);
    }
  }

  protected override forget(call?: CallKey): void {
    for (const table of call ? [this.tables.at(call)] : this.tables.all()) {
      if (!table) continue;
      table.closed = true;
      table.rounds.clear();
    }
  }

  /** Every rank gets all and adds them up itself. */
  private async sumSent(values: Float32Array | Float64Array, turn: Turn): Promise<void> {
    const own = values.slice();
    const all = await this.swapSummands({ turn, summand: summandOf(own), values: own });
    addInOrder(
      values,
      all.map((brought) => brought.values!),
    );
  }

  /** Each rank adds up its own share of the elements, then reads the others'. */
  private async sumShared(values: Float32Array | Float64Array, turn: Turn, memory: SharedArrayBuffer): Promise<void> {
    const { rank, worldSize } = this;
    const Type = values.constructor as Float32ArrayConstructor;
    const inMemory = (shared: SharedArrayBuffer) => new Type(shared, 0, values.length);
    inMemory(memory).set(values);
    const all = await this.swapSummands({ turn, summand: summandOf(values), memory });
    const parts = all.map((share) => inMemory(share.memory!));
    const [sum] = parts;
    const share = Math.ceil(values.length / worldSize);
    addInOrder(sum!, parts, Math.min(rank * share, values.length), Math.min((rank + 1) * share, values.length));
    // Between this exchange and the next, whatever the ranks begin meanwhile.
    await this.swap({ turn: { ...turn, round: turn.round + 0.5 } });
    values.set(sum!);
  }

  /** This rank's memory for the next sum of a call. */
  private memoryFor(call: GroupCall, bytes: number): SharedArrayBuffer {
    const index = this.tables.at(call)!.sums++ % MEMORIES;
    const own = this.memories.get(call.lane) ?? [];
    this.memories.set(call.lane, own);
    const known = own[index];
    if (known && known.byteLength >= bytes) return known;
    return (own[index] = new SharedArrayBuffer(Math.ceil(bytes / 8) * 8));
  }

  /** As `swap`, for what begins a sum: ranks whose arrays differ learn it here, all of them at the same turn. */
  private async swapSummands(own: Share): Promise<Share[]> {
    const all = await this.swap(own);
    requireAlike(all.map(({ summand = summandOf(undefined) }) => summand));
    return all;
  }

  /** Gives every other rank what this one brings, and waits for theirs; for ever, where the call is interrupted. */
  private swap(own: Share): Promise<Share[]> {
    for (const port of this.ports) port?.postMessage(own);
    return new Promise((resolve) => {
      const table = this.tables.at(own.turn);
      table?.sent.add(own.turn.round);
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

  private take(peer: number, share: Share): void {
    const { turn } = share;
    const table = this.tables.at(turn);
    if (!table) return;
    if (table.closed) {
      // Who has failed in it, or is told that another has, hears of it from the controller.
      if (table.left && !table.sent.has(turn.round)) this.tellLeft(peer, turn);
      return;
    }
    const round = roundOf(table.rounds, turn);
    round.brought.set(peer, share);
    round.look?.();
  }

  private tellLeft(peer: number, { id, lane }: CallKey): void {
    const message: Leave = { left: { id, lane } };
    this.ports[peer]!.postMessage(message);
  }
}

function roundOf(rounds: Map<number, Round>, { round }: Turn): Round {
  const known = rounds.get(round) ?? { brought: new Map<number, Share>() };
  rounds.set(round, known);
  return known;
}
