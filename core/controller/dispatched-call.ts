import { isVerlError, VerlError } from "../errors/index.ts";
import { isAbort } from "../errors/is-abort.ts";
import { registries } from "../registry/index.ts";
import type { DispatchFunctions, DispatchTarget, RankArguments } from "./dispatch.ts";
import type { MethodOptions } from "./register.ts";
import { thrownText } from "./thrown-text.ts";

/** One call of a group by its modes, which are a user's own as often as not: what they do wrong is told as theirs. */
export class DispatchedCall {
  constructor(
    private readonly target: DispatchTarget,
    private readonly method: string,
    private readonly options: MethodOptions,
    private readonly mode: DispatchFunctions,
    private readonly args: readonly unknown[],
  ) {}

  /** Each rank's arguments, and the ranks that run. @throws VERL_ENTRY_FAILED for what cannot be called */
  async spread(): Promise<{ lists: RankArguments; ranks: readonly number[] }> {
    const { target, options } = this;
    let lists: RankArguments;
    try {
      lists = await this.mode.dispatch(target, this.args);
    } catch (error) {
      // Refused arguments are the caller's to mend, in the mode's own words.
      throw isVerlError(error) || isAbort(error) ? error : this.failed("could not spread the arguments", error);
    }
    const wrong = faultOf(lists, target.worldSize);
    if (wrong) throw this.fault(this.modeName, `gave ${wrong}`);
    const ranks = registries.execute.resolve(options.executeMode).ranks(lists.length);
    const odd = ranks.find((rank) => !(Number.isInteger(rank) && rank >= 0 && rank < lists.length));
    if (odd === undefined) return { lists, ranks };
    throw this.fault(
      `The execute mode "${options.executeMode}"`,
      `chose rank ${odd} of ${lists.length} that have arguments`,
    );
  }

  /** The result of the call. @throws what `collect` fails with, under its own code or VERL_ENTRY_FAILED */
  async gather(outputs: readonly unknown[], ranks: readonly number[]): Promise<unknown> {
    try {
      return await this.mode.collect(this.target, outputs, this.args, ranks);
    } catch (error) {
      throw isAbort(error) ? error : this.failed("could not collect the results", error);
    }
  }

  private failed(what: string, error: unknown): VerlError {
    const { code, hint, location, details } = isVerlError(error) ? error : ({ code: "VERL_ENTRY_FAILED" } as const);
    return new VerlError(code, `${this.modeName} ${what} of ${this.name}: ${thrownText(error)}`, {
      hint,
      location,
      cause: error,
      details: { ...details, ...this.facts },
    });
  }

  private fault(who: string, what: string): VerlError {
    return new VerlError("VERL_ENTRY_FAILED", `${who} ${what} for ${this.name}.`, {
      hint: `A dispatch mode gives a list of arguments for each of the ${this.target.worldSize} ranks, or for the first of them alone.`,
      details: this.facts,
    });
  }

  private get name(): string {
    return `${this.target.name}.${this.method}`;
  }

  private get modeName(): string {
    const { dispatchMode } = this.options;
    return typeof dispatchMode === "string" ? `The dispatch mode "${dispatchMode}"` : "The dispatch mode of its own";
  }

  private get facts(): Record<string, unknown> {
    const { dispatchMode, executeMode } = this.options;
    return {
      method: this.method,
      dispatchMode: typeof dispatchMode === "string" ? dispatchMode : undefined,
      executeMode,
    };
  }
}

/** What is wrong with the lists that a mode gave, in words. */
function faultOf(lists: unknown, worldSize: number): string | undefined {
  if (!Array.isArray(lists)) return `${kindOf(lists)} in place of lists of arguments`;
  if (lists.length === 0) return "no list of arguments";
  if (lists.length > worldSize) return `${lists.length} lists of arguments to ${worldSize} ranks`;
  const odd = lists.findIndex((list) => !Array.isArray(list));
  return odd < 0 ? undefined : `rank ${odd} ${kindOf(lists[odd])} in place of a list of arguments`;
}

const kindOf = (value: unknown): string =>
  value === undefined || value === null ? String(value) : typeof value === "object" ? "an object" : `a ${typeof value}`;
