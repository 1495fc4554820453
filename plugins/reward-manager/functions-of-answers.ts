import type { Answer, CallTime, ScoreFunctions } from "verl";

/** Finds each answer's function: a source without one is the config's fault, not a sample's, and ends the run before anything is scored. */
export function requireFunctions(answers: readonly Answer[], ...all: readonly ScoreFunctions[]): void {
  for (const source of new Set(answers.map(({ data_source }) => data_source)))
    for (const functions of all) functions.get(source);
}

/** Seconds of an answer's call, under the name of its function. */
export function timeOf(functions: ScoreFunctions, { uid, data_source }: Answer, seconds: number): CallTime {
  return { name: functions.nameOf?.(data_source) ?? data_source, uid, seconds };
}
