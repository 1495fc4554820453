import { isVerlError, VerlError } from "../errors/index.ts";
import { registries } from "../registry/index.ts";
import type { DispatchFunctions, ExecuteMode } from "./dispatch.ts";
import type { MethodOptions } from "./register.ts";

/** How a method's calls are spread and collected. @throws VERL_REGISTRY_KEY_UNKNOWN */
export const dispatchModeOf = ({ dispatchMode: given }: MethodOptions): DispatchFunctions =>
  typeof given === "string" ? registries.dispatch.resolve(given) : given;

/** Which ranks run a method's calls. @throws VERL_REGISTRY_KEY_UNKNOWN */
export const executeModeOf = ({ executeMode }: MethodOptions): ExecuteMode => registries.execute.resolve(executeMode);

/** True where a call gives one batch. */
export function joinsBatches({ dispatchMode: given }: MethodOptions): boolean {
  const mode = typeof given === "string" ? registries.dispatch.get(given) : given;
  return mode?.joinsBatches === true;
}

/** Whether there are the modes that a group's methods name, so that no rank starts for calls that cannot be. @throws VERL_REGISTRY_KEY_UNKNOWN */
export function requireModes(group: string, methods: ReadonlyMap<string, MethodOptions>): void {
  for (const [method, options] of methods) {
    try {
      dispatchModeOf(options);
      executeModeOf(options);
    } catch (error) {
      if (!isVerlError(error)) throw error;
      const { code, message, hint, details } = error;
      const where = `which the @register of ${group}.${method} names`;
      throw new VerlError(code, `${message.replace(/\.$/, "")}, ${where}.`, { hint, details: { ...details, method } });
    }
  }
}
