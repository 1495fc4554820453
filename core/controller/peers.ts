import { AsyncLocalStorage } from "node:async_hooks";
import { VerlError } from "../errors/index.ts";
import { CallLanes, OUTSIDE, type GroupCall } from "./group-call.ts";
import { kindOf } from "./kind-of.ts";

/**
 * The ranks of one group among themselves. Every rank makes the same exchanges in the same order, counted from the start of the call in
 * which it makes them: calls that overlap exchange apart. A rank that is late keeps the others waiting; when it has failed, or ended its
 * part of the call without an exchange, theirs fail too. So does one in a call that does not run on every rank, and one after its call
 * has ended: VERL_WORKER_FAILED. Work outside of calls, such as a constructor's, never ends: what is missing there is waited for.
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
export interface Turn extends CallKey {
  /** Counts the rank's exchanges of the call from 0. */
  readonly round: number;
}

/** What tells a call from others. */
export type CallKey = Pick<GroupCall, "id" | "lane">;

/** Brings a value to an exchange and waits for those of all ranks. @param next numbers the exchange: called for a value that can be sent */
export type Meet = (next: () => Turn, value: unknown) => Promise<unknown[]>;

/** The exchanges of one call on one rank. */
interface Scope {
  /** What is called: `actor.updateActor`. */
  work: string;
  round: number;
  /** Where there are none any more: the error that says why. */
  broken?: () => VerlError;
  readonly waiting: Set<(error: VerlError) => void>;
}

/** In which call a piece of work is; a worker in this thread may call others, which are in calls of their own. */
interface Within {
  readonly peers: MeetingPeers;
  readonly call: GroupCall;
  readonly scope: Scope;
  readonly outer: Within | undefined;
}

const ON_ALL = "Call the method on every rank at once: by its own modes, or by executeAll.";
const IN_TIME = "Wait for every exchange before the method returns.";
const ALIKE = "Every rank makes the same exchanges in a call, in the same order.";

const current = new AsyncLocalStorage<Within>();

/** Peers that meet in any way; a transport that has shared memory overrides `sum`. */
export class MeetingPeers implements Peers {
  private readonly scopes = new CallLanes<Scope>(() => ({ work: "", round: 0, waiting: new Set() }));

  constructor(
    readonly rank: number,
    readonly worldSize: number,
    private readonly meet: Meet,
  ) {}

  exchange<T>(value: T): Promise<T[]> {
    return this.meeting((next) => this.meet(next, value) as Promise<T[]>);
  }

  sum(values: Float32Array | Float64Array): Promise<void> {
    if (!isSummand(values)) return this.refuse(values);
    if (this.worldSize === 1) return Promise.resolve();
    return this.meeting(async (next) => {
      // A copy, since the sum is written to where this rank's own share stands.
      const parts = (await this.meet(next, values.slice())) as (typeof values)[];
      requireAlike(parts.map(summandOf));
      addInOrder(values, parts);
    });
  }

  /**
   * Does the work of a call: exchanges that it makes, now or later, are this call's.
   * @param name of what is called, for messages: `actor.updateActor`
   */
  async within<T>(call: GroupCall, name: string, work: () => Promise<T>): Promise<T> {
    // Nothing to keep apart, and following the work would cost a little at each of its promises.
    if (this.worldSize === 1) return work();
    const scope = this.scopes.at(call)!;
    scope.work = name;
    if (!call.whole) this.break(scope, "cannot exchange with ranks on which its call does not run.", ON_ALL);
    try {
      const result = await current.run({ peers: this, call, scope, outer: current.getStore() }, work);
      // Where the work has failed the controller tells the others, and why.
      if (!scope.broken) this.leave(call, scope.round);
      return result;
    } finally {
      this.break(scope, "exchanges with the other ranks after its call has ended.", IN_TIME);
      this.forget(call);
    }
  }

  /**
   * A rank has failed in a call: exchanges in it that are under way, and those that come, fail.
   * @param call default: every call under way, and what is outside of calls
   */
  interrupt(reason: string, call?: GroupCall): void {
    const scopes = call ? [this.scopes.at(call)] : [this.scopes.at(OUTSIDE), ...this.scopes.all()];
    for (const scope of scopes) if (scope) this.break(scope, `waited for the other ranks, but ${reason}`);
    this.forget(call);
  }

  /** A rank has ended its part of a call without an exchange to which this one has come. */
  missed(rank: number, call: CallKey): void {
    const scope = this.scopes.at(call);
    if (!scope) return;
    const ended = `rank ${rank} has ended its part of ${scope.work} without this exchange.`;
    this.break(scope, `waited for the other ranks, but ${ended}`, ALIKE);
    this.forget(call);
  }

  /** This rank has ended its part of a call after so many exchanges; for those that tell the others themselves. */
  protected leave(_call: GroupCall, _rounds: number): void {}

  /** Called once a call, or every one, exchanges no more; for those that keep something of it. */
  protected forget(_call?: CallKey): void {}

  /**
   * What `begin` waits for, unless the call is interrupted first.
   * @param begin is given what numbers its exchanges
   */
  protected meeting<T>(begin: (next: () => Turn, call: GroupCall) => Promise<T>): Promise<T> {
    const { call, scope } = this.here();
    if (scope.broken) return Promise.reject(scope.broken());
    const { id, lane } = call;
    const met = new Promise<T>((resolve, reject) => {
      scope.waiting.add(reject);
      begin(() => ({ id, lane, round: scope.round++ }), call)
        .then(resolve, reject)
        .finally(() => scope.waiting.delete(reject));
    });
    // One for which nobody waits does not end the process.
    met.catch(() => undefined);
    return met;
  }

  /** What a rank fails with that is to add up something else than an array. */
  protected refuse(values: unknown): Promise<never> {
    const refused = Promise.reject(
      new VerlError("VERL_WORKER_FAILED", `Rank ${this.rank} cannot add up ${kindOf(values)} by peers.sum.`, {
        hint: "It takes a Float32Array or a Float64Array, whose elements it replaces by their sums.",
      }),
    );
    refused.catch(() => undefined);
    return refused;
  }

  private here(): { call: GroupCall; scope: Scope } {
    let within = current.getStore();
    while (within && within.peers !== this) within = within.outer;
    return within ?? { call: OUTSIDE, scope: this.scopes.at(OUTSIDE)! };
  }

  /** No exchanges of the call any more; the first reason counts. */
  private break(scope: Scope, what: string, hint?: string): void {
    if (scope.broken) return;
    const failure = (): VerlError => new VerlError("VERL_WORKER_FAILED", `Rank ${this.rank} ${what}`, { hint });
    scope.broken = failure;
    for (const reject of scope.waiting) reject(failure());
    scope.waiting.clear();
  }
}

/** Programs that are not type-checked may bring anything. */
export const isSummand = (value: unknown): value is Float32Array | Float64Array =>
  value instanceof Float32Array || value instanceof Float64Array;

/** What an array to be summed is, in words: `5 elements of a Float32Array`. */
export function summandOf(value: unknown): string {
  if (!isSummand(value)) return "something else than an array";
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

/** A rank at an exchange. */
export interface Brought {
  readonly value: unknown;
  /** Given the values in rank order, once all have come. Never called where the exchange's call is interrupted. */
  readonly deliver: (all: unknown[]) => void;
  /** Told of a rank that will not come, since it has ended its part of the call. */
  readonly missed: (rank: number) => void;
}

/** The exchanges of one call, by number: what each rank brought. */
interface Meetings {
  readonly rounds: Map<number, Map<number, Brought>>;
  /** Ranks that have ended their part. */
  readonly left: Set<number>;
  /** It exchanges no more. */
  closed: boolean;
}

/** Where exchanges meet in the controller: collects what the ranks bring and gives all of it to each once the last has come. */
export class ExchangeHub {
  private readonly calls = new CallLanes<Meetings>(() => ({ rounds: new Map(), left: new Set(), closed: false }));

  constructor(private readonly worldSize: number) {}

  bring(rank: number, turn: Turn, brought: Brought): void {
    const call = this.calls.at(turn);
    if (!call || call.closed) return;
    const round = call.rounds.get(turn.round) ?? new Map<number, Brought>();
    call.rounds.set(turn.round, round.set(rank, brought));
    for (const gone of call.left) if (!round.has(gone)) return brought.missed(gone);
    if (round.size < this.worldSize) return;
    call.rounds.delete(turn.round);
    const all = Array.from({ length: this.worldSize }, (_, from) => round.get(from)!.value);
    for (const { deliver } of round.values()) deliver(all);
  }

  /** A rank has ended its part of a call, and has brought what it does. */
  leave(rank: number, key: CallKey): void {
    const call = this.calls.at(key);
    if (!call || call.closed) return;
    call.left.add(rank);
    for (const round of call.rounds.values()) {
      if (round.has(rank)) continue;
      for (const { missed } of round.values()) missed(rank);
    }
  }

  /** A rank has failed in the call, or in all of them, and the others are told not to wait: forgets what was brought, and what will be. */
  interrupt(key?: CallKey): void {
    const closing = key ? [this.calls.at(key)] : this.calls.all();
    for (const call of closing) {
      if (!call) continue;
      call.closed = true;
      call.rounds.clear();
    }
  }
}
