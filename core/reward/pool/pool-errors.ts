import { ERROR_CODES, VerlError } from "../../errors/index.ts";
import type { HostError } from "./messages.ts";

const POOL_HINT =
  "Score functions of a pool run in processes of their own, which load the `plugins:` of the config and the reward file; what the program itself registered is not there.";

/** An error that a host told of, as it was there. */
export function hostError({ code, message, hint }: HostError): VerlError {
  const known = code !== undefined && code in ERROR_CODES ? (code as keyof typeof ERROR_CODES) : "VERL_REWARD_POOL";
  return new VerlError(known, message, { hint: hint ?? POOL_HINT });
}

export const notReady = (why: string): VerlError =>
  new VerlError("VERL_REWARD_POOL", `A process or thread for score functions did not start: ${why}.`, {
    hint: "The file of custom_reward_function.path and the plugins are loaded there anew; they must load by themselves, in reasonable time and memory.",
  });

export const unknownSource = (): VerlError =>
  new VerlError(
    "VERL_REWARD_POOL",
    "These score functions have no file or key from which another process could load them.",
    {
      hint: "Name them by custom_reward_function.path or by a key, or score in this process.",
    },
  );
