import type { ScoreCall, Scored } from "../score-call.ts";
import type { ScoreSource } from "../score-functions.ts";

/** What a host needs to have the very functions of this process. */
export interface HostSetup {
  /** Modules of the plugins to load, in order. */
  readonly plugins: readonly string[];
  readonly sources: readonly ScoreSource[];
}

/** The pool to a host: once the set-up, then calls, which the host makes one after another. */
export type ToHost = { readonly setup: HostSetup } | { readonly call: ScoreCall; readonly seconds: number };

/** An error as plain data. */
export interface HostError {
  readonly code?: string;
  readonly message: string;
  readonly hint?: string;
}

/** A host to the pool: one answer to each message, in their order. A late call is the host's last: it waits to be replaced. */
export type FromHost = { readonly ready: true } | { readonly scored: Scored } | { readonly failed: HostError };

/** Where a process reads messages, and where it writes its own. Node's channel between processes costs a multiple of two plain pipes. */
export const TO_HOST_FD = 3;
export const FROM_HOST_FD = 4;

/** A host's end of the line. */
export interface HostChannel {
  /** @param last nothing is left to be done: whoever is at the other end may wait for it. */
  post(message: FromHost, last: boolean): void;
  onMessage(take: (message: ToHost) => void): void;
}
