import { VerlError } from "../errors/index.ts";
import { nearest } from "../registry/index.ts";
import { kindOf } from "./kind-of.ts";

const NAMES = ["dispatchMode", "executeMode", "blocking", "materializeFutures"];

const TAKES = `Write @register({ ${NAMES.join(", ")} }), each of which may be absent.`;

/** What `@register` is given, which nothing has checked where a program is not type-checked. @throws VERL_WORKER_REGISTER */
export function requireRegisterOptions(where: string, options: unknown): void {
  const refuse = (what: string, hint: string): VerlError => registerError(where, what, hint);
  if (kindOf(options) !== "an object") throw refuse(`is given ${kindOf(options)} in place of its options`, TAKES);
  const fields = options as Readonly<Record<string, unknown>>;
  const strange = Object.keys(fields).find((name) => !NAMES.includes(name));
  if (strange !== undefined) {
    const [meant] = nearest(strange, NAMES, 1);
    const question = meant === undefined ? "" : `Did you mean "${meant}"? `;
    throw refuse(`has no option "${strange}"`, question + TAKES);
  }
  const { dispatchMode = "", executeMode = "", blocking = true, materializeFutures = true } = fields;
  requireMode(dispatchMode, refuse);
  if (typeof executeMode !== "string") {
    throw refuse(`is given ${kindOf(executeMode)} as \`executeMode\``, "Give the name of an execute mode.");
  }
  for (const [name, value] of Object.entries({ blocking, materializeFutures })) {
    if (typeof value === "boolean") continue;
    throw refuse(`is given ${kindOf(value)} as \`${name}\``, "Give true or false.");
  }
}

/** `@register` in place of `@register()`. */
export const bareRegister = (where: string): VerlError =>
  registerError(where, "stands without parentheses", "Write @register() for a method of the default modes.");

function requireMode(mode: unknown, refuse: (what: string, hint: string) => VerlError): void {
  if (typeof mode === "string") return;
  const hint = "Give the name of a dispatch mode, or an object with the functions dispatch and collect.";
  if (kindOf(mode) !== "an object") throw refuse(`is given ${kindOf(mode)} as \`dispatchMode\``, hint);
  const functions = mode as Readonly<Record<string, unknown>>;
  const missing = ["dispatch", "collect"].find((name) => typeof functions[name] !== "function");
  if (missing !== undefined) throw refuse(`is given a \`dispatchMode\` without a function \`${missing}\``, hint);
}

const registerError = (where: string, what: string, hint: string): VerlError =>
  new VerlError("VERL_WORKER_REGISTER", `The @register of ${where} ${what}.`, { hint });
