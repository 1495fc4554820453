import type { RunFacts } from "./report/run-facts.ts";
import type { RunConsoleOptions } from "./run-console.ts";

/** What a trainer may use of the process that it runs in. */
export interface TrainerOptions extends RunConsoleOptions {
  /** Aborted: the step under way is the last. */
  signal?: AbortSignal;
  /** What run.json tells of the run. Default: there is none. */
  facts?: RunFacts;
  /** Folder from which the path of a reward file starts. Default: the working directory. */
  directory?: string;
}
