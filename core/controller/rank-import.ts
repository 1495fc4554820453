import { AsyncLocalStorage } from "node:async_hooks";
import { VerlError } from "../errors/index.ts";

/** Under `Symbol.for`, so that a worker module that loads another copy of this package is seen through. */
const IMPORTS = Symbol.for("verl.rank_import");

/** Which rank imports what runs now; where nothing does, there is no such storage, which would cost every `await` something. */
const host = globalThis as { [IMPORTS]?: AsyncLocalStorage<string> };

/** Imports what a rank is made of. Whatever the modules begin, at once or after an `await`, is known as begun by the import. */
export function importForRank<T>(rank: string, work: () => Promise<T>): Promise<T> {
  return (host[IMPORTS] ??= new AsyncLocalStorage()).run(rank, work);
}

/**
 * A program whose worker class stands in its main file would start itself again in every rank, and these ranks more.
 * @throws VERL_WORKER_MODULE where a module starts a group because a rank imports it.
 */
export function requireNoImport(group: string): void {
  const rank = host[IMPORTS]?.getStore();
  if (rank === undefined) return;
  throw new VerlError(
    "VERL_WORKER_MODULE",
    `${group} would be started again by ${rank}, which only imports its module.`,
    {
      hint: "Put the worker class in a file of its own, which starts nothing, and import it where the group is started.",
    },
  );
}
