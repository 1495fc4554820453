import { isVerlError, VerlError } from "../errors/index.ts";
import { isAbort } from "../errors/is-abort.ts";
import { isPlainObject } from "../batch/tagged-json.ts";
import { thrownText } from "./thrown-text.ts";
import type { DeferredWorker } from "./class-with-init-args.ts";
import type { SpawnRequest } from "./transport.ts";

/** A call of one rank, for messages. */
export interface RankCall {
  readonly group: string;
  readonly rank: number;
  /** Where the rank runs: `thread 7`. */
  readonly place: string;
  readonly method: string;
  readonly args: readonly unknown[];
}

/**
 * What a rank failed with, as an error that names rank and method. An error of this package keeps its code and its words and has them in
 * its details, from which `formatError` tells them; what the caller's own signal was aborted with stays as it is.
 */
export function callFailure(call: RankCall, reason: unknown): unknown {
  try {
    const fired = abortedAmong(call.args);
    if (fired.some((signal) => signal.reason === reason)) return reason;
    if (isVerlError(reason)) return withDetails(reason, call);
    if (isAbort(reason)) return fired.length > 0 ? reason : aborted(call, reason);
  } catch {
    // It is something that cannot even be looked at.
  }
  return new VerlError("VERL_WORKER_FAILED", sentence(call, reason), { cause: reason, details: facts(call) });
}

/**
 * What a rank could not be started for, with its rank and the class that failed, as `critic` where it is one of several.
 * @param part its number among the rank's workers. Default: it is none of them in particular, and all are named.
 */
export function startFailure(
  { name, worker, signal }: SpawnRequest,
  rank: number,
  place: string,
  { reason, part }: { readonly reason: unknown; readonly part?: number },
): unknown {
  return callFailure({ group: name, rank, place, method: startOf(worker, part), args: [signal] }, reason);
}

/** What is done at the start of a rank, in place of a method. @param part as for `startFailure` */
export function startOf({ parts }: DeferredWorker, part?: number): string {
  const failed = part === undefined ? undefined : parts[part];
  const all = parts.map(({ workerClass }) => workerClass.name).join(", ");
  return `the start of ${failed ? `${failed.workerClass.name} as ${failed.role}` : all}`;
}

const sentence = ({ group, rank, method }: RankCall, reason: unknown): string =>
  `Rank ${rank} of ${group} failed in ${method}: ${thrownText(reason)}`;

const facts = ({ group, rank, method, place }: RankCall): Record<string, unknown> => ({ group, rank, method, place });

/** A rank that called others in turn says more of the failure than the one that called it. */
function withDetails(error: VerlError, call: RankCall): VerlError {
  const { code, message, hint, location, details, cause, stack } = error;
  if (details !== undefined && "rank" in details && "method" in details) return error;
  const named = new VerlError(code, message, { hint, location, cause, details: { ...facts(call), ...details } });
  if (stack !== undefined) named.stack = stack;
  return named;
}

/** The worker gave up by itself; that it is an abort still counts. */
function aborted(call: RankCall, reason: unknown): Error {
  const error = new DOMException(sentence(call, reason), "AbortError");
  Object.defineProperty(error, "cause", { value: reason });
  return error;
}

/** The aborted signals that are among the arguments, or in a list or object of these. */
function abortedAmong(value: unknown, depth = 0): AbortSignal[] {
  if (value instanceof AbortSignal) return value.aborted ? [value] : [];
  // Signals cross at any depth at which arguments do; no caller puts one deeper than a few levels.
  if (depth > 8) return [];
  const held = Array.isArray(value) ? value : isPlainObject(value) ? Object.values(value) : [];
  return held.flatMap((item) => abortedAmong(item, depth + 1));
}
