import { withDeadline } from "../reward/deadline.ts";
import type { Tool, ToolContext } from "./tool.ts";

/** Seconds that releasing an instance may take; what takes longer is left to itself. */
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
   * @param seconds that the reward may take; when the sample was ended, nobody asks for it
   * @throws what the tool throws, or that it took too long
   */
  async close(seconds: number): Promise<number | undefined> {
    const closed = this.opened.then(
      (id) => this.finish(id, seconds),
      () => undefined,
    );
    if (!this.opening) return closed;
    return withDeadline(this.givenUp ? 0 : RELEASE_S, () => closed);
  }

  private async finish(id: string, seconds: number): Promise<number | undefined> {
    const { tool } = this;
    const { signal } = this.context;
    try {
      return signal.aborted ? undefined : await withDeadline(seconds, () => tool.calcReward(id), signal);
    } finally {
      await withDeadline(RELEASE_S, () => tool.release(id));
    }
  }
}
