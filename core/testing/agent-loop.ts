import fc from "fast-check";
import { isDeepStrictEqual } from "node:util";
import type { AgentContext, AgentLoop, AgentSample, Trajectory } from "../agent/index.ts";
import type { RolloutEngine } from "../engine/index.ts";
import { registries, ROLLOUT, type TokenValues } from "../registry/index.ts";
import { agentContainer, calls } from "./agent-parts.ts";
import type { GoldenCase } from "./cases.ts";
import type { EntrySubject } from "./entry-properties.ts";
import { letterTokenizer } from "./letter-tokenizer.ts";
import { answers, forInputs, inTime, shown } from "./plain-property.ts";
import { Violation, type Property } from "./property.ts";
import { ScriptedRollout, type Sampled } from "./scripted-rollout.ts";
import { optionsOf } from "./subject.ts";
import { defineSuite, type Suite, type SuiteOptions, type TestedWith } from "./suite.ts";

type Asked = {
  /** The user's message. */
  readonly prompt: string;
  /** What the model says, generation by generation; then it says random letters. */
  readonly answers?: readonly string[];
  /** Tokens that the response may have; a letter is one. Default: 200. */
  readonly max_tokens?: number;
  /** Further columns of the row. */
  readonly row?: Readonly<Record<string, unknown>>;
};

/** A golden case of an agent loop over a tokenizer of letters, whose end token reads as `\0`. */
export type AgentLoopCase = GoldenCase<
  Asked,
  {
    /** Everything after the prompt. */
    readonly response?: string;
    /** Of that, what is trained on. */
    readonly trained?: string;
    readonly stopReason?: Trajectory["stopReason"];
    readonly numTurns?: number;
    readonly rewardScore?: number;
    readonly extraFields?: Readonly<Record<string, unknown>>;
  }
>;

export interface AgentLoopSuiteOptions extends SuiteOptions<AgentLoopCase> {
  /** Injected values of a loop that asks for more than every run has. */
  readonly values?: TokenValues;
}

interface LoopSubject extends EntrySubject {
  readonly loop: (rollout: RolloutEngine) => AgentLoop;
}

type Given = TestedWith & { readonly values?: TokenValues };

function loopOf(key: string, { options: given, values }: Given): LoopSubject {
  const { entry, key: canonical } = registries.agent_loop.find(key);
  const options = optionsOf("agent_loop", key, given);
  return {
    kind: "agent_loop",
    key: canonical,
    entry,
    options,
    loop: (rollout) => agentContainer({ [ROLLOUT]: rollout, ...values }).create("agent_loop", key, { options }),
  };
}

function sampleOf({ prompt, row = {} }: Asked): AgentSample {
  const messages = [{ role: "user", content: prompt }];
  const promptIds = letterTokenizer.encodeChat(messages, { addGenerationPrompt: true });
  return { messages, promptIds, uid: "prompt", sampleIndex: 0, row: { raw_prompt: messages, ...row }, validate: false };
}

function contextOf(
  rollout: RolloutEngine,
  { max_tokens = 200 }: Asked,
  signal = new AbortController().signal,
): AgentContext {
  const sampling = {
    temperature: 1,
    top_k: -1,
    top_p: 1,
    max_tokens,
    stop_token_ids: [letterTokenizer.eosTokenId],
    seed: 7,
  };
  return { rollout, sampling, signal, metric: () => undefined, toolCalled: () => undefined };
}

async function run(
  { loop }: LoopSubject,
  asked: Asked,
): Promise<{ trajectory: Trajectory; sampled: readonly Sampled[] }> {
  const rollout = new ScriptedRollout(asked.answers);
  const trajectory = await loop(rollout).run(sampleOf(asked), contextOf(rollout, asked));
  return { trajectory, sampled: rollout.sampled };
}

const askings: fc.Arbitrary<Asked> = fc.record({
  prompt: answers,
  answers: fc.array(fc.oneof(answers, calls), { maxLength: 3 }),
  // A call takes about 70 letters, and 20 more show its result.
  max_tokens: fc.constantFrom(1, 5, 40, 80, 90, 100, 200),
});

const promptIsTheRows: Property<LoopSubject> = forInputs(
  "the prompt is the row's",
  () => askings,
  async (subject, asked) => {
    const { trajectory } = await run(subject, asked);
    const { promptIds } = sampleOf(asked);
    return isDeepStrictEqual([...trajectory.promptIds], [...promptIds]) ? undefined : "it returns another prompt";
  },
);

const tokensAsSampled: Property<LoopSubject> = forInputs(
  "what is trained on is what the model sampled, after the very tokens that it saw",
  () => askings,
  async (subject, asked) => {
    const { trajectory, sampled } = await run(subject, asked);
    let before = [...trajectory.promptIds];
    for (const { ids, logprobs, trainable } of trajectory.segments) {
      if (trainable) {
        const own = sampled.find(
          (generation) => startsWith(generation.ids, ids) && isDeepStrictEqual([...generation.promptIds], before),
        );
        if (own === undefined)
          return `it trains on ${shown(letterTokenizer.decode(ids))}, which the model did not say at that place`;
        if (logprobs?.length !== ids.length || !startsWith(own.logprobs, logprobs))
          return "its log-probs are not those of the generation";
      }
      before = [...before, ...ids];
    }
    return undefined;
  },
);

const startsWith = (whole: ArrayLike<number>, start: ArrayLike<number>): boolean =>
  start.length <= whole.length && Array.from(start).every((value, at) => value === whole[at]);

const staysWithinLimits: Property<LoopSubject> = forInputs(
  "the response has no more tokens than it may",
  () => askings,
  async (subject, asked) => {
    const { trajectory } = await run(subject, asked);
    const length = trajectory.segments.reduce((sum, { ids }) => sum + ids.length, 0);
    return length <= asked.max_tokens! ? undefined : `it has ${length} tokens of ${asked.max_tokens}`;
  },
);

const samplesAlone: Property<LoopSubject> = forInputs(
  "the same sample and seed give the same trajectory, whatever else is under way",
  () => fc.tuple(fc.record({ prompt: answers }), fc.record({ prompt: answers })),
  async (subject, [one, other]) => {
    const alone = (await run(subject, one)).trajectory;
    const rollout = new ScriptedRollout();
    const loop = subject.loop(rollout);
    const [beside] = await Promise.all(
      [one, other].map((asked) => loop.run(sampleOf(asked), contextOf(rollout, asked))),
    );
    const text = ({ segments }: Trajectory): string[] => segments.map(({ ids }) => letterTokenizer.decode(ids));
    return isDeepStrictEqual(text(alone), text(beside!))
      ? undefined
      : `beside another sample it gives ${shown(text(beside!))}, not ${shown(text(alone))}`;
  },
);

const stops: Property<LoopSubject> = {
  name: "a stop ends it",
  async check({ loop }) {
    const controller = new AbortController();
    const hanging = new ScriptedRollout();
    hanging.generate = (_prompt, _sampling, { signal } = {}) =>
      new Promise((_, reject) => {
        signal?.addEventListener("abort", () => reject(signal.reason as Error));
        setImmediate(() => controller.abort());
      });
    const asked = { prompt: "a" };
    const ended = await inTime(loop(hanging).run(sampleOf(asked), contextOf(hanging, asked, controller.signal)));
    if (ended === undefined)
      throw new Violation("it waits for a generation although its signal has aborted; pass `signal` on");
    if (ended.error === undefined && ended.value?.stopReason !== "abort")
      throw new Violation(`it returns ${shown(ended.value?.stopReason)} as if nothing had happened`);
  },
};

async function checkTrajectory(subject: LoopSubject, { input, expected }: AgentLoopCase): Promise<void> {
  const { trajectory } = await run(subject, input);
  const { segments, stopReason, numTurns, rewardScore, extraFields } = trajectory;
  const text = (chosen: Trajectory["segments"]): string =>
    chosen.map(({ ids }) => letterTokenizer.decode(ids)).join("");
  const got = {
    response: text(segments),
    trained: text(segments.filter(({ trainable }) => trainable)),
    stopReason,
    numTurns,
    rewardScore,
    extraFields,
  };
  for (const [name, want] of Object.entries(expected)) {
    const value = got[name as keyof typeof got];
    if (!isDeepStrictEqual(value, want)) throw new Violation(`${name} is ${shown(value)}, not ${shown(want)}`);
  }
}

/** The tests of one entry of the kind. */
export const agentLoopSuite = (key: string, options: Given): Suite<LoopSubject, AgentLoopCase> => ({
  kind: "agent_loop",
  key,
  subject: () => loopOf(key, options),
  properties: [promptIsTheRows, tokensAsSampled, staysWithinLimits, samplesAlone, stops],
  golden: checkTrajectory,
});

/**
 * Tests an agent loop with a model that says what a case says, one letter a token: tokens in, tokens out, limits, stops, and your
 * golden cases.
 *
 *     testAgentLoop("my_loop", { cases: [{ name: "one answer", input: { prompt: "hi", answers: ["ho"] }, expected: { trained: "ho\0", numTurns: 2 } }] });
 *
 * @throws VERL_TESTING_CASES for golden cases that prove nothing; VERL_TESTING_SETUP without a test runner.
 */
export function testAgentLoop(key: string, options: AgentLoopSuiteOptions): void {
  defineSuite(agentLoopSuite(key, options), options);
}
