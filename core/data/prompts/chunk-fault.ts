import { isVerlError, VerlError } from "../../errors/verl-error.ts";
import { reasonOf } from "../../errors/reason-of.ts";

/** The first item of a chunk that the template or the tokenizer refused, as plain data. */
export interface ChunkFault {
  /** 0-based place in the chunk. */
  at: number;
  code?: VerlError["code"];
  message: string;
  hint?: string;
  location?: VerlError["location"];
  details?: Record<string, unknown>;
}

export function faultOf(at: number, error: unknown): ChunkFault {
  if (!isVerlError(error)) return { at, message: reasonOf(error) };
  const { code, message, hint, location, details } = error;
  return { at, code, message, hint, location, details };
}

/** The error that a fault was, for whoever knows where the item came from. */
export function faultError({ code, message, hint, location, details }: ChunkFault): Error {
  return code === undefined ? new Error(message) : new VerlError(code, message, { hint, location, details });
}
