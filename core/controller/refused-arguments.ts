import { VerlError } from "../errors/index.ts";

/** Refused arguments are the caller's to mend: in the words of what refuses them, with the call that these were for. @param call `actor.updateActor` */
export function refusedArguments(
  { code, message, hint, location, cause, details, stack }: VerlError,
  call: string,
  facts: Readonly<Record<string, unknown>>,
): VerlError {
  const words = `${message.replace(/\.$/, "")}; the call was ${call}.`;
  const error = new VerlError(code, words, { hint, location, cause, details: { ...details, ...facts } });
  if (stack !== undefined) error.stack = stack;
  return error;
}
