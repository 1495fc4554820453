import { makeInjectable, parametersOf } from "./container.ts";
import type { Injectable } from "./entry.ts";
import { tokenName } from "./tokens.ts";

export interface InjectionFault {
  /** The parameter and what is wrong with it, a sentence without its full stop. */
  readonly what: string;
  readonly hint: string;
}

/**
 * What keeps `target` from being constructed, found before tsyringe meets it, whose messages name neither the parameter's class nor
 * what is missing. Helpers that its constructor asks for by class are looked through too, and all of them made ready.
 * @param has True for tokens that the run has.
 */
export function injectionFault(
  target: Injectable<object>,
  has: (token: symbol | Injectable<object>) => boolean,
  path: readonly Injectable<object>[] = [],
): InjectionFault | undefined {
  const chain = [...path, target];
  for (const [index, token] of parametersOf(target).entries()) {
    const parameter = `Parameter ${index + 1} of the constructor of ${target.name}`;
    if (token === undefined) {
      const hint =
        "Mark every constructor parameter with `@inject(TOKEN)`; a token is undefined where modules import each other.";
      return { what: `${parameter} has no \`@inject(TOKEN)\``, hint };
    }
    if (has(token)) continue;
    const asks = `${parameter} asks for ${tokenName(token)}`;
    if (typeof token === "symbol") {
      const hint =
        'Tokens of every run, exported by "verl": CONFIG, TOKENIZER, LOGGER, RNG, METRICS, ABORT_SIGNAL, OPTIONS.';
      return { what: `${asks}, which this run does not have`, hint };
    }
    if (chain.includes(token)) {
      const circle = [...chain.slice(chain.indexOf(token)), token].map(({ name }) => name).join(" → ");
      return {
        what: `${asks}, which asks for it in turn: ${circle}`,
        hint: "Let one of them receive the other later.",
      };
    }
    const inner = injectionFault(token, has, chain);
    if (inner !== undefined) return inner;
  }
  makeInjectable(target);
  return undefined;
}
