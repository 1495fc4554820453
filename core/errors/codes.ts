/** Whose fault an error is; it decides the exit code of the command line (user 2, plugin and host 1). */
export type Blame = "user" | "plugin" | "host";

interface CodeEntry {
  readonly blame: Blame;
  /** When it is raised, in one sentence; the docs page of error codes is generated from this. */
  readonly when: string;
}

/** Every code that the project raises, sorted. A meta-test keeps this table, the docs and the raising code in step. */
export const ERROR_CODES = {
  VERL_ENGINE_BATCH: {
    blame: "host",
    when: "A batch handed to an engine lacks a field, or holds token ids or masks that the model cannot read.",
  },
  VERL_ENGINE_NOT_FINITE: {
    blame: "plugin",
    when: "A loss or one of its inputs became NaN or infinite; the weights were left as they were.",
  },
  VERL_ENGINE_STATE: { blame: "user", when: "A saved engine state does not fit the model that should resume from it." },
  VERL_INTERNAL: { blame: "host", when: "An invariant of the host broke; please report it." },
  VERL_MODEL_CONFIG: {
    blame: "user",
    when: "A model's config.json misses a field, or holds a value or an architecture that the embedded engine does not have.",
  },
  VERL_MODEL_WEIGHTS: {
    blame: "user",
    when: "Weights do not fit the model: a name is missing or unknown, or a shape differs.",
  },
  VERL_RNG_STATE: { blame: "user", when: "A saved state of a random stream is not four 32-bit integers." },
  VERL_ROLLOUT_REQUEST: {
    blame: "user",
    when: "A generation request has an empty or too long prompt, an unknown token or sampling parameters out of range.",
  },
  VERL_SAFETENSORS_FORMAT: {
    blame: "user",
    when: "A safetensors file is cut short, or its header contradicts its size.",
  },
} as const satisfies Record<string, CodeEntry>;

export type ErrorCode = keyof typeof ERROR_CODES;
