import { Interaction, type ChatMessage, type InteractionTurn } from "verl";
import { gsm8k } from "../reward-score/gsm8k.ts";
import { rowTruth, type TruthPlace } from "../reward-score/shared/row-truth.ts";

const TRUTH: TruthPlace = {
  code: "VERL_AGENT_INTERACTION",
  path: "interaction_kwargs.ground_truth",
  hint: 'Rows of this interaction have the right answer there, as in { name: "gsm8k", ground_truth: "42" } (or in extra_info.interaction_kwargs).',
};

/** Asks for another answer until it is right; the row's `interaction_kwargs` have the `ground_truth`. */
export class Gsm8kInteraction extends Interaction {
  private readonly samples = new Map<string, { truth: string; score: number }>();

  override start({ ground_truth }: Readonly<Record<string, unknown>>): Promise<string> {
    const instance = globalThis.crypto.randomUUID();
    this.samples.set(instance, { truth: rowTruth(ground_truth, TRUTH), score: 0 });
    return Promise.resolve(instance);
  }

  async respond(instance: string, messages: readonly ChatMessage[]): Promise<InteractionTurn> {
    const sample = this.samples.get(instance)!;
    const answer = messages.findLast(({ role }) => role === "assistant")?.content;
    const { score } = (await gsm8k.score({
      data_source: "gsm8k",
      solution_str: typeof answer === "string" ? answer : "",
      ground_truth: sample.truth,
      extra_info: {},
      method: "strict",
    })) as { score: number };
    sample.score = score;
    return score === 1
      ? { terminate: true, content: "That is right.", score }
      : { terminate: false, content: "That is not right. Think it over, and answer again.", score };
  }

  override calcScore(instance: string): Promise<number> {
    return Promise.resolve(this.samples.get(instance)!.score);
  }

  override finalize(instance: string): Promise<void> {
    this.samples.delete(instance);
    return Promise.resolve();
  }
}
