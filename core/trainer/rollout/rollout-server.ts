import { packError } from "../../controller/packed-error.ts";
import type { RolloutEngine } from "../../engine/rollout-engine.ts";
import type { RolloutAnswer, RolloutAsk, RolloutRequest } from "./rollout-client.ts";

/** The other end of a `RolloutClient`: answers what it asks by an engine that is here. */
export class RolloutServer {
  private readonly live = new Map<number, AbortController>();

  constructor(private readonly engine: RolloutEngine) {}

  /** @param tell gets the answers as they come, those of one tick together. @returns once all requests are answered. */
  async serve({ requests, cancelled }: RolloutAsk, tell: (answers: readonly RolloutAnswer[]) => void): Promise<void> {
    let ready: RolloutAnswer[] = [];
    const flush = (): void => {
      if (ready.length > 0) tell(ready);
      ready = [];
    };
    const answers = requests.map(async (request) => {
      const answer = await this.answer(request);
      // Not in one expression, which would add to the list that there was before the wait.
      if (ready.push(answer) === 1) setImmediate(flush);
    });
    for (const id of cancelled) this.live.get(id)?.abort();
    await Promise.all(answers);
    flush();
  }

  private async answer({ id, promptIds, sampling, sticky }: RolloutRequest): Promise<RolloutAnswer> {
    const controller = new AbortController();
    this.live.set(id, controller);
    try {
      const generation = await this.engine.generate(promptIds, sampling, { signal: controller.signal, sticky });
      return { id, generation };
    } catch (error) {
      return { id, error: packError(error) };
    } finally {
      this.live.delete(id);
    }
  }
}
