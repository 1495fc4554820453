import type { Logger } from "verl";

/**
 * Says once when most tokens that an agent sampled for a step are not trained on. A step's samples are those between two moments at which
 * none is under way.
 */
export class DroppedTokens {
  private underWay = 0;
  private sampled = 0;
  private dropped = 0;

  /** @param path of the agent's file */
  constructor(
    private readonly path: string,
    private readonly log: Pick<Logger, "warnOnce">,
  ) {}

  begin(): void {
    this.underWay += 1;
  }

  add(sampled: number, dropped: number): void {
    this.sampled += sampled;
    this.dropped += dropped;
  }

  end(): void {
    this.underWay -= 1;
    // The next sample of the step may begin when this one has ended.
    setImmediate(() => this.underWay === 0 && this.judge());
  }

  private judge(): void {
    const { sampled, dropped, path } = this;
    this.sampled = this.dropped = 0;
    if (2 * dropped <= sampled) return;
    this.log.warnOnce(
      `gateway_dropped_tokens:${path}`,
      `Of ${sampled} tokens that were sampled for the agent of ${path} in one step, ${dropped} are not trained on: of a sample's conversations ` +
        `one is (\`branches\`), and a request begins another unless its messages begin with those of an earlier one and its answer. Let the agent ` +
        `only append to its messages and keep its tools, or make a row of each task. Later steps are only counted ` +
        `(agent_loop/gateway_dropped_tokens_count, agent_loop/gateway_history_breaks_count).`,
    );
  }
}
