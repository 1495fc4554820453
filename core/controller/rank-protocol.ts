import type { GroupCall } from "./group-call.ts";
import type { CallKey, Turn } from "./peers.ts";

/**
 * What the controller and a rank say to each other: heads of `ChannelMessage`. `Packed` fields are `payload.ts`'s.
 *
 * The controller speaks first, with `start`; the rank answers `ready` or `failed`, and from then on `call`s may overlap. `ping` may
 * come at any time. After `stop` the rank disposes its worker, says `stopped` and closes.
 */

/** Raised when a message changes its meaning; both ends run the same version of the package otherwise. */
export const PROTOCOL = 4;

/** JSON with references to the message's blobs. */
export type Packed = unknown;

export type ToRank =
  | { type: "start"; protocol: typeof PROTOCOL; spec: RankSpec; args: Packed }
  | { type: "call"; id: number; call: GroupCall; method: string; args: Packed }
  /** A signal that was among the arguments of a call has fired. */
  | { type: "abort"; signal: number; reason: PackedError }
  /** Everything that the ranks brought to an exchange. */
  | { type: "exchange"; turn: Turn; values: Packed }
  /** A rank has failed: exchanges in that call, or in every one, fail. */
  | { type: "interrupt"; reason: string; call?: GroupCall }
  /** A rank has ended its part of that call without an exchange to which this one has come. */
  | { type: "missed"; call: CallKey; rank: number }
  | { type: "ping" }
  | { type: "stop" };

export type FromRank =
  | { type: "ready" }
  /** The rank could not be started. `part`: number of the worker that failed, where several share the rank. */
  | { type: "failed"; error: PackedError; part?: number }
  | { type: "result"; id: number; value: Packed }
  | { type: "error"; id: number; error: PackedError }
  /** What the worker tells a listener among the arguments of a call that is under way. */
  | { type: "tell"; id: number; listener: number; value: Packed }
  | { type: "log"; level: "debug" | "info" | "warn"; message: string; fields?: unknown }
  | { type: "metric"; name: string; value: Packed }
  /** Nobody caught this; the rank ends by it. */
  | { type: "uncaught"; error: PackedError }
  | { type: "exchange"; turn: Turn; value: Packed }
  | { type: "pong" }
  | { type: "stopped" };

/** What a rank is told of itself. */
export interface RankSpec {
  name: string;
  rank: number;
  worldSize: number;
  localRank: number;
  localWorldSize: number;
  env: Record<string, string>;
  plugins: string[];
  /** Where each class of the rank's worker is imported from; role "" stands alone. The constructors' arguments come in this order. */
  parts: { role: string; module: string; name: string }[];
}

/** An error in words that JSON carries. */
export interface PackedError {
  name: string;
  message: string;
  stack?: string;
  code?: string;
  /** Of HTTP. */
  status?: number;
  hint?: string;
  location?: object;
  details?: object;
  cause?: PackedError;
  /** Those that it stands for. */
  errors?: PackedError[];
}
