import type { ErrorCode } from "./codes.ts";

const BRAND = Symbol.for("verl.error");

/** Where in the user's input an error lies: a file position, an override's text, or a plugin. */
export interface ErrorLocation {
  /** File path as the user wrote it. */
  file?: string;
  /** 1-based line. */
  line?: number;
  /** 1-based column. */
  column?: number;
  /** Dotted config path, for example `algorithm.adv_estimator`. */
  path?: string;
  /** Text of the command-line override. */
  override?: string;
  /** Package name of the plugin at fault. */
  plugin?: string;
}

export interface VerlErrorOptions {
  /** What to do about it: a command, a nearest name, the allowed values. */
  hint?: string;
  location?: ErrorLocation;
  cause?: unknown;
  /** Machine-readable facts (`--json`). */
  details?: Record<string, unknown>;
}

/**
 * The one error class of the project. `code` is permanent, `message` says what is wrong with which value, `hint` what to do.
 * Codes and their meaning: `core/errors/codes.ts`.
 */
export class VerlError extends Error {
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly location: ErrorLocation | undefined;
  readonly details: Record<string, unknown> | undefined;

  constructor(code: ErrorCode, message: string, options: VerlErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "VerlError";
    this.code = code;
    this.hint = options.hint;
    this.location = options.location;
    this.details = options.details;
    Object.defineProperty(this, BRAND, { value: true });
  }

  toJSON(): Record<string, unknown> {
    const { code, message, hint, location, details } = this;
    return { code, message, hint, location, details };
  }
}

/** True for errors of any copy of this package, which `instanceof` would miss. */
export function isVerlError(error: unknown): error is VerlError {
  return typeof error === "object" && error !== null && BRAND in error;
}
