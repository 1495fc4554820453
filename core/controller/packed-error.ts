import { isVerlError, VerlError, type ErrorCode } from "../errors/index.ts";
import { httpStatusOf } from "../errors/http-status.ts";
import { isAbort } from "../errors/is-abort.ts";
import { plainFacts } from "../errors/plain-facts.ts";
import type { PackedError } from "./rank-protocol.ts";
import { thrownText } from "./thrown-text.ts";

/** Causes of causes that cross. */
const MAX_CAUSES = 8;

/** Errors of an `AggregateError` that cross; each has as much room for causes as this many causes leave. */
const MAX_ERRORS = 16;
const ERRORS_DEPTH = 4;

/** An error in words, with its stack, its causes, and the errors that it stands for. Takes whatever was thrown, and throws nothing. */
export function packError(error: unknown, depth = 0): PackedError {
  try {
    return packed(error, depth);
  } catch {
    return { name: "Error", message: thrownText(error) };
  }
}

function packed(error: unknown, depth: number): PackedError {
  if (!(typeof error === "object" && error !== null && "message" in error)) {
    return { name: "Error", message: thrownText(error) };
  }
  const { name, message, stack, cause } = error as Error;
  const words: PackedError = { name: String(name), message: String(message), stack };
  if (isVerlError(error)) {
    Object.assign(words, {
      code: error.code,
      hint: error.hint,
      location: error.location,
      details: plainFacts(error.details),
    });
  }
  // By it engines say whether a request is at fault, or they have too much to do.
  const status = httpStatusOf(error);
  if (status !== undefined) words.status = status;
  if ("errors" in error && Array.isArray(error.errors) && depth < MAX_CAUSES) {
    words.errors = error.errors.slice(0, MAX_ERRORS).map((each) => packError(each, depth + ERRORS_DEPTH));
  }
  if (cause !== undefined && depth < MAX_CAUSES) words.cause = packError(cause, depth + 1);
  return JSON.parse(JSON.stringify(words)) as PackedError;
}

/** The error that `packError` was given, with the stack of where it was thrown. */
export function unpackError(packed: PackedError): Error {
  const cause = packed.cause && unpackError(packed.cause);
  if (isAbort(packed)) return new DOMException(packed.message, packed.name);
  const error =
    packed.code === undefined
      ? plainError(packed, cause && { cause })
      : new VerlError(packed.code as ErrorCode, packed.message, {
          hint: packed.hint,
          location: packed.location,
          details: packed.details as Record<string, unknown>,
          cause,
        });
  if (packed.code === undefined) error.name = packed.name;
  if (packed.stack !== undefined) error.stack = packed.stack;
  if (packed.status !== undefined) Object.assign(error, { status: packed.status });
  return error;
}

const plainError = ({ message, errors }: PackedError, options: ErrorOptions | undefined): Error =>
  errors ? new AggregateError(errors.map(unpackError), message, options) : new Error(message, options);
