import type { Answer, CallTime, ScoreFunctions } from "verl";

/** Finds each answer's function: a source without one is the config's fault, not a sample's, and ends the run before anything is scored. */
export function requireFunctions(answers: readonly Answer[], ...all: readonly ScoreFunctions[]): void {
  for (const source of new Set(answers.map(({ data_source }) => data_source)))
    for (const functions of all) functions.get(source);
}

/** Seconds of each answer's call, under the name of its function. */
export function timesOf(
  functions: ScoreFunctions,
  answers: readonly Answer[],
  calls: readonly { readonly seconds: number }[],
): CallTime[] {
  return answers.map(({ uid, data_source }, row) => {
    return { name: functions.nameOf?.(data_source) ?? data_source, uid, seconds: calls[row]!.seconds };
  });
}
