import { setImmediate } from "node:timers/promises";
import { Interaction, type InteractionContext, type InteractionTurn } from "../../core/agent/index.ts";
import type { ChatMessage } from "../../core/data/index.ts";
import { testInteraction } from "../../core/testing/index.ts";
import { faultsOfData, testFaults } from "./faults.ts";

type Table = Readonly<Record<string, unknown>>;

/** Asks until it hears the word of the sample; what a test wants otherwise is overridden. */
class Honest extends Interaction {
  protected readonly words = new Map<string, string>();

  override start({ word = "yes" }: Table, _ctx: InteractionContext): Promise<string> {
    const instance = globalThis.crypto.randomUUID();
    this.words.set(instance, String(word));
    return Promise.resolve(instance);
  }

  async respond(instance: string, messages: readonly ChatMessage[]): Promise<InteractionTurn> {
    await setImmediate();
    const right = messages.at(-1)!.content === this.words.get(instance);
    return { terminate: right, content: "Again.", score: Number(right) };
  }

  override finalize(instance: string): Promise<void> {
    if (!this.words.delete(instance)) return Promise.reject(new Error("there is no such sample"));
    return Promise.resolve();
  }
}

class Throws extends Honest {
  override respond(instance: string, messages: readonly ChatMessage[]): Promise<InteractionTurn> {
    JSON.parse(messages.at(-1)!.content as string);
    return super.respond(instance, messages);
  }
}
class Hangs extends Honest {
  override respond(instance: string, messages: readonly ChatMessage[]): Promise<InteractionTurn> {
    return messages.at(-1)!.content === "" ? new Promise(() => undefined) : super.respond(instance, messages);
  }
}
class NoScore extends Honest {
  override async respond(instance: string, messages: readonly ChatMessage[]): Promise<InteractionTurn> {
    return { ...(await super.respond(instance, messages)), score: Number(messages.at(-1)!.content) };
  }
}
class NoEnd extends Honest {
  override respond(): Promise<InteractionTurn> {
    return Promise.resolve({ content: "Again.", score: 0 } as InteractionTurn); // as plain JavaScript may have it
  }
}
class ScoresNaN extends Honest {
  override calcScore(): Promise<number> {
    return Promise.resolve(0 / 0);
  }
}
class Shares extends Honest {
  private last = "";
  override start(kwargs: Table, ctx: InteractionContext): Promise<string> {
    this.last = (kwargs["word"] ?? "yes") as string;
    return super.start(kwargs, ctx);
  }
  override async respond(instance: string, messages: readonly ChatMessage[]): Promise<InteractionTurn> {
    return { ...(await super.respond(instance, messages)), content: `Say ${this.last}.` };
  }
}
class Writes extends Honest {
  override respond(instance: string, messages: readonly ChatMessage[]): Promise<InteractionTurn> {
    const turn = super.respond(instance, messages);
    (messages as ChatMessage[]).push({ role: "user", content: "Again." });
    return turn;
  }
}
class EndsTheHeard extends Honest {
  private readonly heard = new Set<string>();
  override respond(instance: string, messages: readonly ChatMessage[]): Promise<InteractionTurn> {
    this.heard.add(instance);
    return super.respond(instance, messages);
  }
  override finalize(instance: string): Promise<void> {
    if (!this.heard.has(instance)) return Promise.reject(new Error("nothing was said"));
    return super.finalize(instance);
  }
}

const entry = (create: new () => Interaction) => ({ description: "Asks for a word.", create });
const ANSWERED = "every answer gets a turn";

testFaults("interaction", {
  suite: testInteraction,
  honest: entry(Honest),
  cases: [
    {
      name: "the second is right",
      input: { answers: ["no", "yes"] },
      expected: { turns: [{ terminate: false, score: 0 }, { terminate: true }] },
    },
    {
      name: "another word",
      input: { answers: ["yes"], interaction_kwargs: { word: "no" } },
      expected: { turns: [{ terminate: false, content: "Again." }] },
    },
  ],
  wrongCases: [
    [
      "the conversation has 1 turns, not 2",
      { name: "too long", input: { answers: ["yes", "no"] }, expected: { turns: [{}, { terminate: true }] } },
    ],
    [
      "score of turn 0 is 1, not 0",
      { name: "wrong", input: { answers: ["yes"] }, expected: { turns: [{ terminate: true, score: 0 }] } },
    ],
  ],
  faults: [
    ...faultsOfData(entry(Honest)),
    { property: ANSWERED, words: "it throws", entry: entry(Throws) },
    { property: ANSWERED, words: "it hangs", entry: entry(Hangs) },
    {
      property: ANSWERED,
      words: 'it returns {"terminate":false,"content":"Again.","score":null}',
      entry: entry(NoScore),
    },
    { property: ANSWERED, words: 'it returns {"content":"Again.","score":0}', entry: entry(NoEnd) },
    { property: ANSWERED, words: "the conversation's score is NaN", entry: entry(ScoresNaN) },
    { property: "samples do not know of each other", words: "beside another sample it does", entry: entry(Shares) },
    { property: "the conversation is not written", words: "it changed its input", entry: entry(Writes) },
    {
      property: "a sample without an answer can be ended",
      words: "nothing was said",
      entry: entry(EndsTheHeard),
    },
  ],
});
