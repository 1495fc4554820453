import { Interaction, type ChatMessage, type InteractionTurn } from "verl";

/** Says no until the answer is the ground truth. One object serves all samples, so what belongs to one lives under its id. */
export class StrictUser extends Interaction {
  private readonly truths = new Map<string, string>();

  override start({ ground_truth }: Readonly<Record<string, unknown>>): Promise<string> {
    const instance = crypto.randomUUID();
    this.truths.set(instance, String(ground_truth));
    return Promise.resolve(instance);
  }

  respond(instance: string, messages: readonly ChatMessage[]): Promise<InteractionTurn> {
    const right = messages.at(-1)?.content === this.truths.get(instance);
    return Promise.resolve(
      right ? { terminate: true, content: "", score: 1 } : { terminate: false, content: "no", score: 0 },
    );
  }

  override finalize(instance: string): Promise<void> {
    this.truths.delete(instance);
    return Promise.resolve();
  }
}
