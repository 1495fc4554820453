/** Whose fault an error is; it decides the exit code of the command line (user 2, plugin and host 1). */
export type Blame = "user" | "plugin" | "host";

interface CodeEntry {
  readonly blame: Blame;
  /** When it is raised, in one sentence; the docs page of error codes is generated from this. */
  readonly when: string;
}

/** Every code that the project raises, sorted. A meta-test keeps this table, the docs and the raising code in step. */
export const ERROR_CODES = {
  VERL_INTERNAL: { blame: "host", when: "An invariant of the host broke; please report it." },
} as const satisfies Record<string, CodeEntry>;

export type ErrorCode = keyof typeof ERROR_CODES;
