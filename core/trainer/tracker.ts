import type { ClassEntry } from "../registry/entry.ts";

/** Where metrics go: one of `trainer.logger`. */
export interface Tracker {
  log(metrics: Readonly<Record<string, number>>, step: number): void | Promise<void>;
  /** Called before the first `log` of a run that goes on after `step`: what was logged of later steps is void. */
  resume?(step: number): void | Promise<void>;
  close?(): void | Promise<void>;
}

declare module "../registry/entry.ts" {
  interface EntryOf {
    tracker: ClassEntry<Tracker>;
  }
}
