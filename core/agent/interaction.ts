import type { ChatMessage } from "../data/tokenizer.ts";
import type { ClassEntry } from "../registry/entry.ts";
import { classRegistrar, type ClassRegistrar } from "../registry/register.ts";

export interface InteractionContext {
  /** Aborts at the turn's deadline and when the sample ends. */
  signal: AbortSignal;
  metric(name: string, value: number): void;
}

/** What the simulated user does after an answer. */
export interface InteractionTurn {
  /** True ends the conversation; `content` is then not shown to the model. */
  terminate: boolean;
  /** The user's next message. */
  content: string;
  /** Score of the model's last answer: finite, or the sample fails. */
  score: number;
}

/**
 * A simulated user for conversations of several turns. One object serves all samples; what belongs to one sample lives under the id
 * that `start` gave. Each call may take `multi_turn.tool_timeout_s`; the sample fails by one that throws or takes longer.
 *
 *     @Interaction.register("gsm8k", { description: "…" })
 *     class Gsm8kInteraction extends Interaction { … }
 */
export abstract class Interaction {
  static readonly register: ClassRegistrar<"interaction"> = classRegistrar("interaction");

  /**
   * Begins with one sample.
   * @param _kwargs The row's `interaction_kwargs`.
   * @returns An id for the other methods. Default: a random one.
   */
  start(_kwargs: Readonly<Record<string, unknown>>, _ctx: InteractionContext): Promise<string> {
    return Promise.resolve(globalThis.crypto.randomUUID());
  }

  /** Answers the conversation so far, whose last message is the model's. */
  abstract respond(
    instance: string,
    messages: readonly ChatMessage[],
    ctx: InteractionContext,
  ): Promise<InteractionTurn>;

  /** Score of the whole conversation: finite, or the sample fails. Default: 0. */
  calcScore(_instance: string): Promise<number> {
    return Promise.resolve(0);
  }

  /** Ends the sample; called whatever happened. Default: nothing. */
  finalize(_instance: string): Promise<void> {
    return Promise.resolve();
  }
}

declare module "../registry/entry.ts" {
  interface EntryOf {
    interaction: ClassEntry<Interaction>;
  }
}
