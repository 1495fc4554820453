import { setTimeout as sleep } from "node:timers/promises";
import { Interaction, type InteractionTurn } from "../../../core/agent/interaction.ts";
import { provide } from "../../../core/registry/index.ts";
import type { ChatMessage } from "../../../core/data/tokenizer.ts";

/** What was done with interactions, in order. */
export const said: string[] = [];

/** Says "again" twice, then ends. */
class Again extends Interaction {
  private readonly turns = new Map<string, number>();

  override async start(kwargs: Readonly<Record<string, unknown>>): Promise<string> {
    said.push(`start ${String(kwargs.name)}`);
    const instance = await super.start(kwargs, undefined as never);
    this.turns.set(instance, 0);
    return instance;
  }

  respond(instance: string, messages: readonly ChatMessage[]): Promise<InteractionTurn> {
    const turn = this.turns.get(instance)! + 1;
    this.turns.set(instance, turn);
    said.push(`respond to ${JSON.stringify(messages.at(-1)!.content)}`);
    if (messages.at(-1)!.content === "fail") return Promise.reject(new Error("the user left"));
    return Promise.resolve({ terminate: turn > 2, content: "again", score: turn / 10 });
  }

  override calcScore(): Promise<number> {
    return Promise.resolve(0.5);
  }

  override finalize(instance: string): Promise<void> {
    said.push("finalize");
    this.turns.delete(instance);
    return Promise.resolve();
  }
}

/** Hangs in the method that the row's `hangs` names, or returns what its `says` and `scores` have. */
class Odd extends Interaction {
  private kwargs: Readonly<Record<string, unknown>> = {};

  override async start(kwargs: Readonly<Record<string, unknown>>): Promise<string> {
    this.kwargs = kwargs;
    if (kwargs.hangs === "start") await sleep(200);
    return "odd";
  }

  respond(): Promise<InteractionTurn> {
    return this.answer("respond", "says" in this.kwargs ? this.kwargs.says : { terminate: true, score: 1 });
  }

  override calcScore(): Promise<number> {
    return this.answer("calcScore", "scores" in this.kwargs ? this.kwargs.scores : 0.5);
  }

  override finalize(instance: string): Promise<void> {
    said.push(`finalize ${instance}`);
    return Promise.resolve();
  }

  private answer<T>(method: string, value: unknown): Promise<T> {
    return this.kwargs.hangs === method ? new Promise(() => undefined) : Promise.resolve(value as T);
  }
}

export const testInteractions = [
  provide("interaction", "test-again", { description: "Again.", create: Again }),
  provide("interaction", "test-odd", { description: "Odd.", create: Odd }),
];
