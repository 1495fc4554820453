import {
  givenReward,
  withDeadline,
  type AgentContext,
  type ChatMessage,
  type Interaction,
  type InteractionTurn,
} from "verl";

/** Seconds that an interaction may take to finish at most; what takes longer is left to itself. */
const FINALIZE_S = 10;

/** The simulated user of one sample, from its `start` to its `finalize`; every method has a deadline. */
export class InteractionSession {
  private started: Promise<string> | undefined;
  /** Its id, when it has started. */
  private id: string | undefined;

  constructor(
    private readonly interaction: Interaction,
    private readonly ctx: AgentContext,
    /** Seconds that each of its methods may take. */
    private readonly seconds: number,
  ) {}

  async start(kwargs: Readonly<Record<string, unknown>>): Promise<void> {
    const { interaction } = this;
    this.id = await this.inTime((signal) => {
      this.started = (async () => interaction.start(kwargs, this.context(signal)))();
      return this.started;
    });
  }

  async respond(messages: readonly ChatMessage[]): Promise<InteractionTurn> {
    const { interaction } = this;
    const turn = await this.inTime((signal) => interaction.respond(this.id!, messages, this.context(signal)));
    return checkedTurn(interaction, turn);
  }

  /** Score of the whole conversation; null where the interaction gives none. @throws VerlError VERL_AGENT_REWARD */
  async calcScore(): Promise<number | null> {
    const { interaction } = this;
    const score: unknown = await this.inTime(() => interaction.calcScore(this.id!));
    return givenReward(score, `${interaction.constructor.name}.calcScore`) ?? null;
  }

  /** Ends the sample, whatever happened; one that starts too late is ended then, and not waited for. */
  async close(): Promise<void> {
    const { interaction, id, started } = this;
    if (started === undefined) return;
    const finalize = (instance: string): Promise<void> =>
      withDeadline(Math.min(FINALIZE_S, this.seconds), () => interaction.finalize(instance)).catch(() =>
        this.ctx.metric("agent_loop/finalize_failed_count", 1),
      );
    if (id !== undefined) await finalize(id);
    else started.then(finalize, () => undefined);
  }

  private context(signal: AbortSignal): Parameters<Interaction["start"]>[1] {
    return { signal, metric: (name, value) => this.ctx.metric(name, value) };
  }

  private inTime<T>(call: (signal: AbortSignal) => T | Promise<T>): Promise<T> {
    return withDeadline(this.seconds, call, this.ctx.signal);
  }
}

/**
 * Interactions come from JavaScript too, where nothing checks what they return.
 * @throws TypeError that says what is missing; VerlError VERL_AGENT_REWARD
 */
function checkedTurn(interaction: Interaction, turn: unknown): InteractionTurn {
  const { terminate, content, score } = (turn ?? {}) as Partial<InteractionTurn>;
  const given = givenReward(score, `${interaction.constructor.name}.respond`);
  if (given !== undefined && (terminate === true || typeof content === "string")) return turn as InteractionTurn;
  throw new TypeError(
    `${interaction.constructor.name}.respond must return { terminate, content, score }: text as content, unless it terminates, and a number as score`,
  );
}
