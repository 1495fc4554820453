export { ERROR_CODES, type Blame, type ErrorCode } from "./codes.ts";
export { isVerlError, VerlError, type ErrorLocation, type VerlErrorOptions } from "./verl-error.ts";
