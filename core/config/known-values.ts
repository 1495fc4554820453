import type { Problem } from "./problem.ts";

/** The value at a dotted path; undefined where it is wrong or in doubt. */
export type Known = (path: string) => unknown;

/**
 * What of a config that has problems can be relied on. A value is in doubt too when a problem only mentions its path: an override that
 * could not be applied leaves the default, and a misspelt key the one that was probably meant.
 */
export function knownValues(config: unknown, problems: readonly Problem[] = []): Known {
  const inDoubt = (path: string): boolean =>
    problems.some(
      ({ location, hint }) =>
        location.path === path || location.override?.includes(path) || hint?.includes(`\`${path}\``),
    );
  return (path) =>
    inDoubt(path)
      ? undefined
      : path
          .split(".")
          .reduce<unknown>((value, key) => (value as Readonly<Record<string, unknown>> | undefined)?.[key], config);
}

/** A number; NaN where it is not known, which no comparison holds for. */
export const numberAt = (known: Known, path: string): number => {
  const value = known(path);
  return typeof value === "number" ? value : NaN;
};
