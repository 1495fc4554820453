import type { EntryMeta, Isolation, PoolOptions, PpoConfig } from "verl";

type Properties = NonNullable<NonNullable<EntryMeta["optionsSchema"]>["properties"]>;

/** The options of managers that call score functions here or in a pool. */
export interface PoolSettings {
  pooled?: boolean;
  isolation?: Isolation;
  memory_limit_mb?: number;
}

/** The pool that the options ask for, if they do. */
export function poolOf(
  { pooled = false, isolation = "process", memory_limit_mb = 1024 }: PoolSettings,
  { reward_model }: { reward_model: Pick<PpoConfig["reward_model"], "num_workers"> },
): PoolOptions | undefined {
  return pooled ? { workers: reward_model.num_workers, isolation, memoryLimitMb: memory_limit_mb } : undefined;
}

/** Options of a manager whose pool is always there. */
export const POOL_OPTIONS: Properties = {
  isolation: {
    type: "string",
    enum: ["process", "thread"],
    default: "process",
    description:
      "Where the functions of the pool run. A thread starts faster, but one large allocation beyond its limit ends the whole program, as V8 has it.",
  },
  memory_limit_mb: {
    type: "integer",
    minimum: 64,
    default: 1024,
    description:
      "Memory in MiB that a score function may take: the heap of a thread; of a process also buffers outside of the heap.",
  },
};

/** Options of a manager that may have a pool. */
export const MAYBE_POOLED_OPTIONS: Properties = {
  pooled: {
    type: "boolean",
    default: false,
    description:
      "Run the functions in `reward_model.num_workers` processes, where a time-out ends even an endless loop; each has one call at a time.",
  },
  ...POOL_OPTIONS,
};
