import type { Recorder } from "./recorder.ts";
import type { LazyValue } from "./value.ts";

/**
 * What a tfjs kernel does here: records operations and returns the value(s) of its output(s). Undefined: not for these
 * dtypes or attributes; tfjs' `cpu` backend does it.
 */
export type Kernel<Inputs = never, Attrs = never> = (
  recorder: Recorder,
  inputs: Inputs,
  attrs: Attrs,
) => LazyValue | LazyValue[] | undefined;

/** Kernels by tfjs kernel name. */
export type KernelTable = Readonly<Record<string, Kernel>>;

export interface One {
  readonly x: LazyValue;
}
export interface Two {
  readonly a: LazyValue;
  readonly b: LazyValue;
}
/** Kernels with a list of inputs get them under "0", "1", … */
export type Many = Readonly<Record<string, LazyValue>>;
