import {
  driftError,
  TrajectoryRecorder,
  type AgentContext,
  type AgentSample,
  type ChatMessage,
  type Generation,
  type Logger,
  type PpoConfig,
  type TemplateDrift,
  type Tokenizer,
  type Trajectory,
  type TrajectoryEnd,
  type TurnTokens,
  reasonOf,
} from "verl";
import { endText } from "./end-text.ts";

export interface HistoryParts {
  tokenizer: Tokenizer;
  /** Whether to compare the history with what the template makes of it. */
  looksForDrift: boolean;
  sample: AgentSample;
  ctx: AgentContext;
  tokens: TurnTokens;
  limits: PpoConfig["actor_rollout_ref"]["rollout"]["multi_turn"];
  log: Logger;
}

/** What was said in a conversation, as messages and as the tokens that the model was shown and sampled. */
export class ConversationHistory {
  private readonly said: ChatMessage[];
  private readonly trajectory: TrajectoryRecorder;
  /** Tokens of the newest generation. */
  private newest: Int32Array = new Int32Array();
  /** The conversation as the template had it when the model was last asked; undefined where nobody looks. */
  private shown: string | undefined;
  private drifts = 0;

  constructor(private readonly parts: HistoryParts) {
    this.said = [...parts.sample.messages];
    this.trajectory = new TrajectoryRecorder(parts.sample.promptIds);
  }

  /** Notes what the model is asked first. */
  begin(): void {
    if (this.parts.looksForDrift) this.shown = this.looking(() => this.parts.tokens.render(this.said));
  }

  get messages(): readonly ChatMessage[] {
    return this.said;
  }

  /** Tokens that still fit. */
  get room(): number {
    return this.parts.ctx.sampling.max_tokens - this.trajectory.responseLength;
  }

  /** All tokens so far. */
  ids(): Int32Array {
    return this.trajectory.ids();
  }

  /** Appends the tokens of a generation; `answered` has its message. */
  sampled(generation: Generation): void {
    this.trajectory.sampled(generation);
    this.newest = generation.ids;
  }

  /** Appends the message of the newest generation. */
  answered(message: ChatMessage): void {
    this.said.push(message);
  }

  /** Appends messages as context. @returns false when they do not fit any more; then no token is appended. */
  observe(messages: readonly ChatMessage[]): boolean {
    const { tokens, ctx } = this.parts;
    const ids = tokens.after(this.said.at(-1)!, this.newest.at(-1), messages);
    if (this.follow(messages)) return this.room >= 0;
    if (ids.length > this.room) {
      ctx.metric("agent_loop/results_not_shown_count", 1);
      return false;
    }
    this.trajectory.observed(ids);
    return true;
  }

  /** The metric `agent_loop/template_drift`: 1 where the template has rewritten the history. */
  reportDrift(): void {
    const drifted = this.drifts > 0;
    if (drifted || this.shown !== undefined) this.parts.ctx.metric("agent_loop/template_drift", Number(drifted));
  }

  end(end: TrajectoryEnd): Trajectory {
    return this.trajectory.end(end);
  }

  /**
   * Puts messages into the history, and looks whether the template still has what stood before them.
   * @returns true when the trajectory was forked from what it has now
   */
  private follow(messages: readonly ChatMessage[]): boolean {
    const { tokens, limits, log } = this.parts;
    const answer = [...this.said];
    this.said.push(...messages);
    if (this.shown === undefined) return false;
    const drift = this.looking(() => this.driftSince(answer));
    if (drift === undefined) return false;
    this.drifts += 1;
    const error = driftError(drift, "history", messages);
    if (limits.template_drift === "fail") throw error;
    if (limits.template_drift === "append") {
      log.warnOnce("template_drift", `${error.message} The conversations go on with what the model was shown.`);
      return false;
    }
    log.warnOnce("template_drift", `${error.message} The conversations go on with the rewritten history.`);
    const rewritten = this.looking(() => tokens.encode(drift.text));
    if (rewritten === undefined) return false;
    this.trajectory.fork(rewritten);
    return true;
  }

  /** How the template has what was shown now, if otherwise. @param answer the messages up to the newest answer. */
  private driftSince(answer: readonly ChatMessage[]): TemplateDrift | undefined {
    const { tokens } = this.parts;
    const shown = this.shown!;
    const now = tokens.render(this.said);
    this.shown = now;
    const drift = tokens.compare(shown, now) ?? this.answerDrift(answer, shown, now);
    return drift && { ...drift, text: now };
  }

  /**
   * What the work of looking comes to. Unless drift is to fail the sample, no error of it does: the conversation is only looked at no more.
   * Templates refuse parallel calls, or a call that could not be read; the model is shown them all the same, one by one.
   */
  private looking<T>(work: () => T): T | undefined {
    const { limits, log } = this.parts;
    try {
      return work();
    } catch (error) {
      if (limits.template_drift === "fail") throw error;
      const told = reasonOf(error);
      log.warnOnce("template_refusal", `${told} Such conversations are not looked at for template drift.`);
      this.shown = undefined;
      return undefined;
    }
  }

  /**
   * Where the template no longer has the newest answer, white space aside. It writes calls in its own way, so an answer with calls is held to
   * what it made of that when it came last; or to its beginning and its thought, as Qwen3 then has an empty thought in it that is nowhere else.
   */
  private answerDrift(messages: readonly ChatMessage[], shown: string, now: string): TemplateDrift | undefined {
    const { tokenizer, tokens } = this.parts;
    const { tool_calls, reasoning_content: thought = "" } = messages.at(-1)!;
    const ended = endText(tokenizer, this.newest) !== "";
    const sampled = tokenizer.decode(ended ? this.newest.subarray(0, -1) : this.newest);
    const kept = now.slice(shown.length);
    if (tool_calls === undefined) {
      return withoutSpace(kept).startsWith(withoutSpace(sampled)) ? undefined : tokens.compare(shown + sampled, now);
    }
    const begins = kept.trimStart().startsWith(firstToken(tokenizer, this.newest));
    if (begins && kept.includes(thought as string)) return undefined;
    return tokens.compare(tokens.render(messages, false), now);
  }
}

const withoutSpace = (text: string): string => text.replace(/\s+/g, "");

/** The first token that says something, or so many as make a letter. */
function firstToken(tokenizer: Tokenizer, ids: Int32Array): string {
  for (let count = 1; count <= ids.length; count += 1) {
    const text = tokenizer.decode(ids.subarray(0, count)).trimStart();
    if (text !== "" && !text.endsWith("\uFFFD")) return text;
  }
  return "";
}
