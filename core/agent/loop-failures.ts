import { thrownText } from "../errors/format-error.ts";
import { reasonOf } from "../errors/reason-of.ts";
import { isVerlError, VerlError } from "../errors/verl-error.ts";
import type { Logger } from "../registry/logger.ts";
import { DeadlineError } from "../reward/deadline.ts";

/** A group that is given up, with the answer that kept failing. */
export interface Failure {
  uid: string;
  sampleIndex: number;
  error: unknown;
}

/** Causes of dropped groups that are told, a run of the loops. */
const SHOWN = 3;

/** Failures by what caused them, the commonest cause first. */
export function byCause(failures: Iterable<Failure>): Failure[][] {
  const causes = new Map<string, Failure[]>();
  for (const failure of failures) {
    const reason = reasonOf(failure.error);
    const alike = causes.get(reason);
    if (alike === undefined) causes.set(reason, [failure]);
    else alike.push(failure);
  }
  return [...causes.values()].sort((a, b) => b.length - a.length);
}

/** `agent_loop/dropped_groups/<class>` of each class: `timeout`, an error's code, or `error`. */
export function dropMetrics(failures: Iterable<Failure>): Record<string, number> {
  const metrics: Record<string, number> = {};
  for (const { error } of failures) {
    const kind = error instanceof DeadlineError ? "timeout" : isVerlError(error) ? error.code.toLowerCase() : "error";
    const name = `agent_loop/dropped_groups/${kind}`;
    metrics[name] = (metrics[name] ?? 0) + 1;
  }
  return metrics;
}

/** One line a cause: what strikes one group often strikes many. */
export function reportFailures(failures: readonly (readonly Failure[])[], log: Logger): void {
  const rest = failures.slice(SHOWN).flat();
  for (const [first, ...others] of failures.slice(0, SHOWN)) {
    const { uid, sampleIndex, error } = first!;
    const more = others.length === 0 ? "" : ` ${others.length} more groups were dropped for the same reason.`;
    const told = [textOf(error), ...hintsOf(error)].join("\n");
    log.warn(`Dropped the group of prompt ${uid}: its answer ${sampleIndex} failed every time.${more} ${told}`);
  }
  if (rest.length > 0) log.warn(`Dropped ${rest.length} more groups for other reasons.`);
}

/** The error of a step without any answer. */
export function allFailed(failures: readonly (readonly Failure[])[]): VerlError {
  const [commonest] = failures;
  const groups = failures.reduce((sum, alike) => sum + alike.length, 0);
  const reason = reasonOf(commonest![0]!.error);
  return new VerlError(
    "VERL_AGENT_LOOP_FAILED",
    failures.length === 1
      ? `No prompt was answered: all ${groups} groups failed by the same error: ${reason}`
      : `No prompt was answered: all ${groups} groups failed by ${failures.length} different errors. The commonest (${commonest!.length} groups) is: ${reason}`,
    {
      cause: commonest![0]!.error,
      hint: [
        ...hintsOf(commonest![0]!.error),
        "Look at that error first; the same cause usually fails every row.",
      ].join("\n"),
    },
  );
}

/** Where a deadline was when it fired says nothing of what took the time. */
const textOf = (error: unknown): string =>
  error instanceof DeadlineError ? `It ${reasonOf(error)}.` : thrownText(error);

const hintsOf = (error: unknown): string[] =>
  isVerlError(error) && error.hint !== undefined && error.hint !== "" ? [error.hint] : [];
