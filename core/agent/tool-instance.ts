import { withDeadline } from "../reward/deadline.ts";
import type { Tool, ToolContext } from "./tool.ts";

/** Seconds that releasing an instance may take at most; what takes longer is left to itself. */
const RELEASE_S = 10;

/** What belongs to one sample at a tool, from its `create` to its `release`. */
export class ToolInstance {
  private readonly opened: Promise<string>;
  private opening = true;
  private givenUp = false;

  constructor(
    private readonly tool: Tool,
    kwargs: Readonly<Record<string, unknown>>,
    private readonly context: ToolContext,
  ) {
    // A tool of JavaScript may return no promise, or throw none.
    this.opened = (async () => tool.create(kwargs, context))();
    const ended = (): void => void (this.opening = false);
    this.opened.then(ended, ended);
  }

  /** Its id. @throws what `create` throws; at once, when a call has waited for it in vain and it still is not there */
  async id(): Promise<string> {
    if (this.opening && this.givenUp) throw new Error("it did not open in time");
    return this.opened;
  }

  /** A call has waited until its deadline. Where it waited for `create`, no other does. */
  timedOut(): void {
    this.givenUp ||= this.opening;
  }

  /**
   * Asks for the reward, and releases the instance whatever comes of that. One that nobody waits for any more is released when it comes.
   * What throws or takes too long is counted.
   * @param seconds that the reward may take, and the release, which has 10 s at most; when the sample was ended, nobody asks for the reward
   * @returns what `calcReward` did, unchecked
   */
  async close(seconds: number): Promise<unknown> {
    const closed = this.opened.then(
      (id) => this.finish(id, seconds),
      () => undefined,
    );
    if (!this.opening) return closed;
    return this.counted("release", () => withDeadline(this.givenUp ? 0 : Math.min(RELEASE_S, seconds), () => closed));
  }

  private async finish(id: string, seconds: number): Promise<unknown> {
    const { tool } = this;
    const { signal } = this.context;
    const reward = signal.aborted
      ? undefined
      : await this.counted("tool_reward", () => withDeadline<unknown>(seconds, () => tool.calcReward(id), signal));
    await this.counted("release", () => withDeadline(Math.min(RELEASE_S, seconds), () => tool.release(id)));
    return reward;
  }

  /** Undefined when it fails. */
  private async counted<T>(what: "tool_reward" | "release", work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch {
      this.context.metric(`agent_loop/${what}_failed_count`, 1);
      return undefined;
    }
  }
}
