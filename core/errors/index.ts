export { counted } from "./counted.ts";
export { ERROR_CODES, type Blame, type ErrorCode } from "./codes.ts";
export { blameOf, exitCodeOf, formatError, formatLocation, type FormatErrorOptions } from "./format-error.ts";
export { reasonOf } from "./reason-of.ts";
export { isVerlError, VerlError, type ErrorLocation, type VerlErrorOptions } from "./verl-error.ts";
export { containStrayErrors } from "./stray-errors.ts";
