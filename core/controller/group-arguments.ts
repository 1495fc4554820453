import { VerlError } from "../errors/index.ts";
import { nearest } from "../registry/index.ts";
import type { DeferredWorker } from "./class-with-init-args.ts";
import { kindOf } from "./kind-of.ts";
import type { ResourcePool } from "./resource-pool.ts";
import { isWorkerClass } from "./worker.ts";

/* What makes a group, which nothing has checked where a program is not type-checked. All throw VERL_WORKER_ARGUMENT. */

const refuse = (message: string, hint: string): VerlError => new VerlError("VERL_WORKER_ARGUMENT", message, { hint });

/** `Did you mean "a"? `, or nothing. */
export function didYouMean(given: unknown, names: Iterable<string>): string {
  const [meant] = typeof given === "string" ? nearest(given, names, 1) : [];
  return meant === undefined ? "" : `Did you mean "${meant}"? `;
}

export function requireWorkerClass(given: unknown): void {
  if (isWorkerClass(given)) return;
  const what =
    typeof given === "function" ? `${given.name || "a function"}, which does not extend Worker` : kindOf(given);
  throw refuse(
    `A worker group cannot be made of ${what}.`,
    "It takes a class that extends Worker, not an instance of one.",
  );
}

/** @param worker name of the class that they are for */
export function requireArgumentList(worker: string, given: unknown): void {
  if (Array.isArray(given)) return;
  throw refuse(
    `The constructor arguments of ${worker} are ${kindOf(given)} in place of a list.`,
    `Write WorkerGroup.create(${worker}, [], …) where there are none after the context.`,
  );
}

/** A class with its arguments, or several. @param who is made of it: `A worker group`, `The colocated worker "critic"` */
export function requireDeferred(who: string, given: unknown): void {
  if (isWorkerClass(given)) {
    const hint = `Write new ClassWithInitArgs(${given.name}, …), with the arguments that come after the context.`;
    throw refuse(`${who} is given the class ${given.name} as it is, without its arguments.`, hint);
  }
  const { parts, methods, construct } = (given ?? {}) as Partial<DeferredWorker>;
  if (Array.isArray(parts) && methods !== undefined && typeof construct === "function") return;
  const what = `${who} is given ${kindOf(given)} in place of a worker class with its arguments.`;
  throw refuse(what, "Give a ClassWithInitArgs, or what createColocatedWorkerClass makes of several.");
}

/** @param group whose roles they are */
export function requireRoleList(group: string, given: unknown): void {
  if (given === undefined || Array.isArray(given)) return;
  const [what, example] = typeof given === "string" ? [`"${given}"`, given] : [kindOf(given), "actor"];
  throw refuse(`${group} is to spawn ${what} in place of a list of roles.`, `Give a list: ["${example}"].`);
}

/** What each option is, and a check of it. */
const OPTIONS: Readonly<Record<string, readonly [wanted: string, fits: (value: unknown) => boolean]>> = {
  worldSize: ["a number of ranks", (value) => typeof value === "number"],
  pool: ["a ResourcePool", (value) => Array.isArray(fieldOf(value, "places"))],
  transport: ["a transport: new ThreadTransport(), say", (value) => hasMethods(value, ["spawn", "close"])],
  name: ["a text", (value) => typeof value === "string"],
  env: ["an object of variables", (value) => kindOf(value) === "an object"],
  plugins: ["a list of packages and file: URLs", (value) => Array.isArray(value)],
  log: ["a logger, as createLogger makes one", (value) => hasMethods(value, ["debug", "info", "warn", "warnOnce"])],
  metrics: ["an object with a function add", (value) => hasMethods(value, ["add"])],
  health: [
    "an object of seconds: pingS, silentS, lostS",
    (value) => ["pingS", "silentS", "lostS"].every((limit) => typeof fieldOf(value, limit) === "number"),
  ],
  signal: ["an AbortSignal", (value) => value instanceof AbortSignal],
  local: ["anything", () => true],
};

/** @param who is started with them: name of the class */
export function requireGroupOptions(who: string, options: unknown): void {
  const names = Object.keys(OPTIONS);
  const takes = `Options of a group: ${names.join(", ")}.`;
  if (kindOf(options) !== "an object") {
    throw refuse(`The group of ${who} is given ${kindOf(options)} in place of its options.`, takes);
  }
  for (const [name, value] of Object.entries(options as object)) {
    const option = Object.hasOwn(OPTIONS, name) ? OPTIONS[name] : undefined;
    if (!option) throw refuse(`The group of ${who} has no option "${name}".`, didYouMean(name, names) + takes);
    const [wanted, fits] = option;
    if (value === undefined || fits(value)) continue;
    const given = typeof value === "string" ? `the text "${value}"` : kindOf(value);
    throw refuse(`The group of ${who} is given ${given} as \`${name}\`.`, `It takes ${wanted}.`);
  }
  const { worldSize, pool } = options as { readonly worldSize?: number; readonly pool?: ResourcePool };
  if (worldSize === undefined || pool === undefined || worldSize === pool.places.length) return;
  throw refuse(
    `The group of ${who} is given ${worldSize} as \`worldSize\` and a pool of ${pool.places.length}.`,
    "Leave `worldSize` out: the pool says how many ranks there are.",
  );
}

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined;

const hasMethods = (value: unknown, names: readonly string[]): boolean =>
  names.every((name) => typeof fieldOf(value, name) === "function");
