import type { FusedLoss } from "verl";
import { LOSS_LOOPS } from "./loss-loops.wasm.ts";

/**
 * A loss over one row, as `assembly/losses.ts` has it: adds to the sums and writes d loss / d log-prob.
 * @param share what one of the row's tokens, or the row, counts in the loss. @param weighted tokens have importance weights.
 */
export type Loop = (tokens: number, share: number, weighted: boolean) => void;

/** What the module exports. */
export interface LossLoops extends Readonly<Record<FusedLoss, Loop>> {
  readonly memory: { readonly buffer: ArrayBuffer };
  /** Makes room for rows of so many tokens and sets the sums to 0. @returns where the first field lies, in bytes. */
  reserve(width: number): number;
  configure(low: number, high: number, floor: number, ceiling: number, first: number, second: number): void;
  /** 0: the loss; 1, 2: counts; 3: the sum for the approximate KL divergence. */
  sumAt(number: number): number;
}

/** Of the standard, which every Node has and its types lack. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
};

let loops: LossLoops | undefined;

/** WebAssembly, since V8's own code computes one token at a time, and this four: three to four times as fast. */
export function lossLoops(): LossLoops {
  loops ??= new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(LOSS_LOOPS, "base64"))).exports as LossLoops;
  return loops;
}
