import type { EntryMeta } from "../registry/entry.ts";

export interface BackendOptions {
  /** Threads of one computation. Default: the physical cores that this process may use. */
  threads?: number;
  /** Compiled graphs kept at most, where a backend compiles graphs. Default: the backend's own. */
  cachedGraphs?: number;
  /** Part of a GPU's name, where a backend can choose one. Default: the system's first choice. */
  adapter?: string;
}

/** An installation that someone asked for: `verl backend install`. */
export interface BackendInstall {
  /** Folder of the project that the backend's packages go to; it has a package.json. */
  readonly project: string;
  /** Where a library comes from; the backend knows the choices. Absent: the backend's own choice. */
  readonly from?: string;
  /** For CUDA. */
  readonly cuda: boolean;
  /** Tells of the next thing that takes a while. */
  readonly log: (line: string) => void;
  readonly signal: AbortSignal;
}

/** A tfjs backend: how it is set up, and whether it can be here. */
export interface TensorBackend extends EntryMeta {
  /** Name under which tfjs knows it. */
  readonly tfjsName: string;
  /** Undefined when usable with these options, else why not and what to do. */
  unavailable(options?: BackendOptions): Promise<string | undefined>;
  /** Registers and selects it; idempotent. */
  activate(options: BackendOptions): Promise<void>;
  /** Brings what `npm install` alone does not, and checks it; absent where that is nothing. @returns what was installed, in a sentence. */
  install?(request: BackendInstall): Promise<string>;
}

declare module "../registry/entry.ts" {
  interface EntryOf {
    tensor_backend: TensorBackend;
  }
}
