import fc from "fast-check";
import { isDeepStrictEqual } from "node:util";
import type { Interaction, InteractionContext, InteractionTurn } from "../agent/index.ts";
import type { ChatMessage } from "../data/index.ts";
import { registries, type TokenValues } from "../registry/index.ts";
import type { GoldenCase } from "./cases.ts";
import type { EntrySubject } from "./entry-properties.ts";
import { answers, forInputs, inTime, shown, withoutWrites } from "./plain-property.ts";
import { Violation, type Property } from "./property.ts";
import { optionsOf } from "./subject.ts";
import { defineSuite, type Suite, type SuiteOptions, type TestedWith } from "./suite.ts";
import { testContainer } from "./test-container.ts";

type Table = Readonly<Record<string, unknown>>;

type Conversation = {
  /** The user's first message. Default: `Go on.` */
  readonly question?: string;
  /** What the model says, turn by turn. */
  readonly answers: readonly string[];
  readonly interaction_kwargs?: Table;
};

/** A golden case of an interaction: what it does after each answer, up to the one that ends the conversation. */
export type InteractionCase = GoldenCase<Conversation, { readonly turns: readonly Partial<InteractionTurn>[] }>;

export interface InteractionSuiteOptions extends SuiteOptions<InteractionCase> {
  /** Injected values of an interaction that asks for more than every run has. */
  readonly values?: TokenValues;
}

interface InteractionSubject extends EntrySubject {
  readonly interaction: Interaction;
  /** `interaction_kwargs` of the golden cases; generated conversations start with one of them. */
  readonly kwargs: readonly Table[];
}

type Given = TestedWith & { readonly values?: TokenValues; readonly cases?: InteractionSuiteOptions["cases"] };

function interactionOf(key: string, { options: given, values, cases }: Given): InteractionSubject {
  const { entry, key: canonical } = registries.interaction.find(key);
  const options = optionsOf("interaction", key, given);
  const interaction = testContainer(values).create("interaction", key, { options });
  const kwargs = typeof cases === "object" ? cases.map(({ input }) => input.interaction_kwargs ?? {}) : [{}];
  return { kind: "interaction", key: canonical, entry, options, interaction, kwargs };
}

const contextOf = (): InteractionContext => ({ signal: new AbortController().signal, metric: () => undefined });

/** Holds a conversation until it ends. */
async function converse(
  interaction: Interaction,
  { question = "Go on.", answers: said, interaction_kwargs = {} }: Conversation,
) {
  const ctx = contextOf();
  const instance = await interaction.start(interaction_kwargs, ctx);
  const messages: ChatMessage[] = [{ role: "user", content: question }];
  const turns: InteractionTurn[] = [];
  try {
    for (const content of said) {
      messages.push({ role: "assistant", content });
      const turn = await interaction.respond(instance, structuredClone(messages), ctx);
      turns.push(turn);
      if (turn.terminate) break;
      messages.push({ role: "user", content: turn.content });
    }
    return { turns, score: await interaction.calcScore(instance) };
  } finally {
    await interaction.finalize(instance);
  }
}

const conversations = ({ kwargs }: InteractionSubject): fc.Arbitrary<Conversation> =>
  fc.record({
    answers: fc.array(answers, { minLength: 1, maxLength: 3 }),
    interaction_kwargs: fc.constantFrom(...kwargs),
  });

const anythingIsAnswered: Property<InteractionSubject> = forInputs(
  "every answer gets a turn",
  conversations,
  async ({ interaction }, conversation) => {
    const ended = await inTime(converse(interaction, conversation));
    if (ended === undefined) return "it hangs";
    if (ended.error !== undefined)
      return `it throws ${ended.error instanceof Error ? ended.error.message : shown(ended.error)}`;
    const { turns, score } = ended.value!;
    const odd = turns.find(
      (turn) => typeof turn.terminate !== "boolean" || typeof turn.content !== "string" || !Number.isFinite(turn.score),
    );
    if (odd !== undefined) return `it returns ${shown(odd)}`;
    return score === undefined || Number.isFinite(score) ? undefined : `the conversation's score is ${String(score)}`;
  },
);

const samplesAlone: Property<InteractionSubject> = forInputs(
  "samples do not know of each other",
  (subject) => fc.tuple(conversations(subject), conversations(subject)),
  async ({ interaction }, [one, other]) => {
    const alone = await converse(interaction, one);
    const [beside] = await Promise.all([converse(interaction, one), converse(interaction, other)]);
    return isDeepStrictEqual(alone, beside)
      ? undefined
      : `beside another sample it does ${shown(beside)}, not ${shown(alone)}`;
  },
);

const notWritten: Property<InteractionSubject> = forInputs(
  "the conversation is not written",
  conversations,
  async ({ interaction }, { answers: [content], interaction_kwargs = {} }) => {
    const ctx = contextOf();
    const instance = await interaction.start(interaction_kwargs, ctx);
    const messages: ChatMessage[] = [
      { role: "user", content: "Go on." },
      { role: "assistant", content: content! },
    ];
    try {
      return await withoutWrites(messages, (given) => interaction.respond(instance, given, ctx));
    } finally {
      await interaction.finalize(instance);
    }
  },
);

const endUnheard: Property<InteractionSubject> = {
  name: "a sample without an answer can be ended",
  async check({ interaction, kwargs }) {
    await interaction.finalize(await interaction.start(kwargs[0] ?? {}, contextOf()));
  },
};

async function checkTurns({ interaction }: InteractionSubject, { input, expected }: InteractionCase): Promise<void> {
  const { turns } = await converse(interaction, input);
  if (turns.length !== expected.turns.length)
    throw new Violation(`the conversation has ${turns.length} turns, not ${expected.turns.length}`);
  for (const [index, want] of expected.turns.entries()) {
    for (const [name, value] of Object.entries(want)) {
      const got = turns[index]![name as keyof InteractionTurn];
      if (!isDeepStrictEqual(got, value))
        throw new Violation(`${name} of turn ${index} is ${shown(got)}, not ${shown(value)}`);
    }
  }
}

/** The tests of one entry of the kind. */
export const interactionSuite = (key: string, options: Given): Suite<InteractionSubject, InteractionCase> => ({
  kind: "interaction",
  key,
  subject: () => interactionOf(key, options),
  properties: [anythingIsAnswered, samplesAlone, notWritten, endUnheard],
  golden: checkTurns,
});

/**
 * Tests an interaction: any answer gets a turn, samples do not mix, and your golden cases.
 *
 *     testInteraction("my_user", { cases: [{ name: "right", input: { answers: ["4"], interaction_kwargs: { ground_truth: "4" } }, expected: { turns: [{ terminate: true, score: 1 }] } }] });
 *
 * @throws VERL_TESTING_CASES for golden cases that prove nothing; VERL_TESTING_SETUP without a test runner.
 */
export function testInteraction(key: string, options: InteractionSuiteOptions): void {
  defineSuite(interactionSuite(key, options), options);
}
