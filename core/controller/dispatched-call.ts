import { DataProto } from "../batch/data-proto.ts";
import { isVerlError, VerlError } from "../errors/index.ts";
import { isAbort } from "../errors/is-abort.ts";
import { DataProtoFuture } from "./data-proto-future.ts";
import type { DispatchFunctions, DispatchTarget, RankArguments } from "./dispatch.ts";
import { kindOf } from "./kind-of.ts";
import { dispatchModeOf, executeModeOf, joinsBatches } from "./method-modes.ts";
import { refusedArguments } from "./refused-arguments.ts";
import type { MethodOptions } from "./register.ts";
import { thrownText } from "./thrown-text.ts";

/** One call of a group by its modes, which are a user's own as often as not: what they do wrong is told as theirs. */
export class DispatchedCall {
  private readonly mode: DispatchFunctions;

  constructor(
    private readonly target: DispatchTarget,
    private readonly method: string,
    private readonly options: MethodOptions,
    private readonly args: readonly unknown[],
  ) {
    this.mode = dispatchModeOf(options);
  }

  /**
   * Each rank's arguments, and the ranks that run.
   * @throws VERL_ENTRY_FAILED for what cannot be called; the mode's own code for arguments that it refuses
   */
  async spread(): Promise<{ lists: RankArguments; ranks: readonly number[] }> {
    const { target } = this;
    let lists: RankArguments;
    try {
      lists = await this.mode.dispatch(target, this.args);
    } catch (error) {
      if (isAbort(error)) throw error;
      if (isVerlError(error)) throw refusedArguments(error, this.name, this.facts);
      throw this.failed(this.modeName, "could not spread the arguments of", error);
    }
    const wrong = faultOf(lists, target.worldSize);
    if (wrong) throw this.fault(this.modeName, `gave ${wrong}`, this.listsHint);
    const ranks = this.ranksAmong(lists.length);
    this.requireRows(lists, ranks);
    return { lists, ranks };
  }

  /** Those of `count` ranks that run, in rank order. */
  private ranksAmong(count: number): readonly number[] {
    const name = this.executeName;
    let ranks: unknown;
    try {
      ranks = executeModeOf(this.options).ranks(count);
    } catch (error) {
      throw this.failed(name, "could not choose the ranks of", error);
    }
    const hint = `An execute mode gives a list of ranks, of 0 to ${count - 1}.`;
    if (!Array.isArray(ranks)) throw this.fault(name, `gave ${kindOf(ranks)} in place of a list of ranks`, hint);
    if (ranks.length === 0) throw this.fault(name, "chose no rank", hint);
    const odd = ranks.findIndex((rank) => !(Number.isInteger(rank) && rank >= 0 && rank < count));
    if (odd >= 0) {
      const which = typeof ranks[odd] === "number" ? `rank ${ranks[odd]}` : `${kindOf(ranks[odd])} as a rank`;
      throw this.fault(name, `chose ${which} of ${count} that have arguments`, hint);
    }
    const chosen = (ranks as number[]).toSorted((a, b) => a - b);
    const twice = chosen.find((rank, index) => rank === chosen[index + 1]);
    if (twice !== undefined) throw this.fault(name, `chose rank ${twice} more than once`, hint);
    return chosen;
  }

  /** Rows that no rank computes would be missing from the one batch that comes back, or be taken from others. */
  private requireRows(lists: RankArguments, ranks: readonly number[]): void {
    if (!joinsBatches(this.options)) return;
    const run = new Set(ranks);
    const left = lists.findIndex((list, rank) => !run.has(rank) && list.some(holdsRows));
    if (left < 0) return;
    const joins = `holds rows that ${this.modeName.replace("The", "the")} joins`;
    throw new VerlError(
      "VERL_ENTRY_FAILED",
      `${this.executeName} leaves out rank ${left} for ${this.name}, which ${joins}.`,
      {
        hint: 'Register the method with executeMode "ALL", or with a dispatch mode that gives a list of results.',
        details: this.facts,
      },
    );
  }

  /** The result of the call. @throws what `collect` fails with, under its own code or VERL_ENTRY_FAILED */
  async gather(outputs: readonly unknown[], ranks: readonly number[]): Promise<unknown> {
    try {
      return await this.mode.collect(this.target, outputs, this.args, ranks);
    } catch (error) {
      throw isAbort(error) ? error : this.failed(this.modeName, "could not collect the results of", error);
    }
  }

  private failed(who: string, what: string, error: unknown): VerlError {
    const { code, hint, location, details } = isVerlError(error) ? error : ({ code: "VERL_ENTRY_FAILED" } as const);
    return new VerlError(code, `${who} ${what} ${this.name}: ${thrownText(error)}`, {
      hint,
      location,
      cause: error,
      details: { ...details, ...this.facts },
    });
  }

  private fault(who: string, what: string, hint: string): VerlError {
    return new VerlError("VERL_ENTRY_FAILED", `${who} ${what} for ${this.name}.`, { hint, details: this.facts });
  }

  private get listsHint(): string {
    return `A dispatch mode gives a list of arguments for each of the ${this.target.worldSize} ranks, or for the first of them alone.`;
  }

  private get name(): string {
    return `${this.target.name}.${this.method}`;
  }

  private get executeName(): string {
    return `The execute mode "${this.options.executeMode}"`;
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

const holdsRows = (arg: unknown): boolean => arg instanceof DataProto || arg instanceof DataProtoFuture;
