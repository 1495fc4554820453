import { parseLosslessJson, stringifyLosslessJson } from "../lossless-json.ts";

/** Items of a chunk as text, large integers kept: one form for threads and for hashes. */
export function packChunk(items: readonly unknown[]): string {
  try {
    return JSON.stringify(items);
  } catch {
    // It holds a bigint.
    return stringifyLosslessJson(items);
  }
}

export const unpackChunk = <T>(text: string): T[] => parseLosslessJson(text) as T[];
