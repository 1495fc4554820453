import type { Logger } from "./logger.ts";
import type { MetricsSink } from "./metrics-sink.ts";

/*
 * What a class may ask for in its constructor: `constructor(@inject(LOGGER) private readonly log: Logger)`.
 * The symbols are process-wide, so a plugin that carries its own copy of this package asks for the same things.
 */

/** The resolved config tree of the run. */
export const CONFIG: unique symbol = Symbol.for("verl.token.CONFIG");
/** The `Tokenizer` of the run. */
export const TOKENIZER: unique symbol = Symbol.for("verl.token.TOKENIZER");
/** A `Logger`. */
export const LOGGER: unique symbol = Symbol.for("verl.token.LOGGER");
/** The root `Rng` of the run; take a named stream of it. */
export const RNG: unique symbol = Symbol.for("verl.token.RNG");
/** A `MetricsSink`. */
export const METRICS: unique symbol = Symbol.for("verl.token.METRICS");
/** The `AbortSignal` that ends the run. */
export const ABORT_SIGNAL: unique symbol = Symbol.for("verl.token.ABORT_SIGNAL");
/** The `RolloutEngine` of the run. */
export const ROLLOUT: unique symbol = Symbol.for("verl.token.ROLLOUT");
/** The `RoleConfig` of the engine that is constructed: its model, optimizer and limits. */
export const ROLE_CONFIG: unique symbol = Symbol.for("verl.token.ROLE_CONFIG");
/** The entry's own options, validated by its `optionsSchema`, defaults filled in. */
export const OPTIONS: unique symbol = Symbol.for("verl.token.OPTIONS");

/** Anything that `@inject` takes: one of the tokens above, a symbol of the plugin's own, or a class. */
export type Token = symbol;

/** Values by token, as `createRunContainer` takes them: `{ [CONFIG]: config, [LOGGER]: logger }`. */
export interface TokenValues {
  readonly [LOGGER]?: Logger;
  readonly [METRICS]?: MetricsSink;
  readonly [ABORT_SIGNAL]?: AbortSignal;
  readonly [token: symbol]: unknown;
}

/** A token's name in sentences: `LOGGER` for ours, the symbol's description for others. */
export function tokenName(token: unknown): string {
  if (typeof token === "symbol") return token.description?.replace(/^verl\.token\./, "") ?? "a symbol without a name";
  return typeof token === "function" ? token.name : String(token);
}
