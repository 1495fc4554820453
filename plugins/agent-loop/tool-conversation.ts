import {
  inOrder,
  openAiToolCall,
  startsInReasoning,
  ToolSession,
  type ChatMessage,
  type Generation,
  type Interaction,
  type OfferedTool,
  type ParsedAnswer,
  type ToolCallError,
  type ToolParser,
  type ToolSchema,
  type Trajectory,
  type TrajectoryEnd,
} from "verl";
import { ConversationHistory, type HistoryParts } from "./conversation-history.ts";
import { endText } from "./end-text.ts";
import { InteractionSession } from "./interaction-session.ts";

/** What a conversation does next; the loop goes from one to the other until `terminated`. */
type AgentState = "pending" | "generating" | "processing_tools" | "interacting" | "terminated";

/** Why a conversation ended: the column `termination_reason`. */
type TerminationReason =
  | "answered" // an answer without calls, and no user to reply
  | "interaction" // the simulated user is done
  | "max_assistant_turns"
  | "max_user_turns"
  | "response_length" // no token is left
  | "invalid_calls" // `max_invalid_calls` in a row
  | "aborted"
  | "empty_generation";

const STOP_REASONS: Readonly<Record<TerminationReason, Trajectory["stopReason"]>> = {
  answered: "stop",
  interaction: "stop",
  max_assistant_turns: "limit",
  max_user_turns: "limit",
  response_length: "length",
  invalid_calls: "limit",
  aborted: "abort",
  empty_generation: "stop",
};

export interface ConversationParts extends HistoryParts {
  tools: ReadonlyMap<string, OfferedTool>;
  parser: ToolParser;
  interaction: Interaction | undefined;
  interactionKwargs: Readonly<Record<string, unknown>>;
  toolsKwargs: Readonly<Record<string, unknown>>;
}

/** One sample's conversation, as a state machine. */
export class ToolConversation {
  private state: AgentState = "pending";
  private reason: TerminationReason = "answered";
  private readonly history: ConversationHistory;
  private readonly session: ToolSession;
  private readonly user: InteractionSession | undefined;
  private readonly schemas: ToolSchema[];
  /** What the parser made of the newest generation. */
  private answer: ParsedAnswer | undefined;
  private assistantTurns = 0;
  private userTurns = 0;
  private calls = 0;
  private invalidInARow = 0;
  private readonly toolRewards: number[] = [];
  private readonly turnScores: number[] = [];

  constructor(private readonly parts: ConversationParts) {
    const { sample, ctx, tools, limits, toolsKwargs, interaction } = parts;
    this.history = new ConversationHistory(parts);
    this.schemas = [...tools.values()].map(({ schema }) => schema);
    this.user = interaction && new InteractionSession(interaction, ctx, limits.tool_timeout_s);
    this.session = new ToolSession(tools, sample, ctx, toolsKwargs, {
      maxParallel: limits.max_parallel_calls,
      timeout: limits.tool_timeout_s,
      maxLength: limits.max_tool_response_length,
      truncateSide: limits.tool_response_truncate_side,
    });
  }

  async run(): Promise<Trajectory> {
    const fields: Record<string, unknown> = {};
    try {
      while (this.state !== "terminated") this.state = await this.step();
      if (this.user !== undefined) fields.interaction_score = await this.user.calcScore();
    } catch (error) {
      // What failed first is told.
      await this.close().catch(() => undefined);
      throw error;
    }
    fields.tool_session_rewards = await this.close();
    return this.history.end(this.end(fields));
  }

  private step(): AgentState | Promise<AgentState> {
    switch (this.state) {
      case "pending":
        return this.begin();
      case "generating":
        return this.generate();
      case "processing_tools":
        return this.processTools();
      case "interacting":
        return this.interact();
      case "terminated":
        return "terminated";
    }
  }

  private async begin(): Promise<AgentState> {
    const { interactionKwargs, ctx } = this.parts;
    await this.user?.start(interactionKwargs);
    this.history.begin();
    ctx.signal.throwIfAborted();
    return "generating";
  }

  private async generate(): Promise<AgentState> {
    const { ctx, sample, limits } = this.parts;
    const left = this.history.room;
    if (left <= 0) return this.terminate("response_length");
    const prompt = this.history.ids();
    const sampling = { ...ctx.sampling, max_tokens: left, seed: (ctx.sampling.seed + this.assistantTurns) >>> 0 };
    const sticky = `${sample.uid}/${sample.sampleIndex}`;
    const generation = await ctx.rollout.generate(prompt, sampling, { signal: ctx.signal, sticky });
    ctx.signal.throwIfAborted();
    this.history.sampled(generation);
    this.assistantTurns += 1;
    if (generation.stopReason === "abort") return this.terminate("aborted");
    if (generation.ids.length === 0) return this.terminate("empty_generation");
    if (generation.stopReason === "length") {
      // None of its calls is executed: what was cut off may have changed them.
      const { errors } = this.parse(generation, prompt, "length");
      if (errors.length > 0) ctx.metric("agent_loop/calls_not_run_count", errors.length);
      return this.terminate("response_length");
    }
    this.read(generation, prompt);
    const { calls, errors } = this.answer!;
    const noUserTurnLeft = limits.max_user_turns !== null && this.userTurns >= limits.max_user_turns;
    if (calls.length + errors.length > 0) {
      if (!noUserTurnLeft) return "processing_tools";
      ctx.metric("agent_loop/calls_not_run_count", calls.length);
      return this.terminate("max_user_turns");
    }
    if (this.user === undefined) return this.terminate("answered");
    return noUserTurnLeft ? this.terminate("max_user_turns") : "interacting";
  }

  private async processTools(): Promise<AgentState> {
    const { limits, ctx } = this.parts;
    const { calls } = this.answer!;
    const ids = this.callIds();
    this.calls += calls.length;
    const answers = await this.session.run(calls);
    for (const { reward } of answers) if (reward !== undefined) this.toolRewards.push(reward);
    const entries = inOrder(this.answer!);
    let [ran, invalid] = [0, 0];
    // In the order in which the model wrote them.
    const results = entries.map((entry, index): ChatMessage => {
      const isUnread = "reason" in entry;
      const isInvalid = isUnread || answers[ran]!.invalid;
      invalid += Number(isInvalid);
      this.invalidInARow = isInvalid ? this.invalidInARow + 1 : 0;
      if (isUnread) return { role: "tool", content: unreadText(entry, index, entries.length) };
      const { content } = answers[ran]!;
      return { role: "tool", tool_call_id: ids[ran++]!, name: entry.name, content };
    });
    if (invalid > 0) ctx.metric("agent_loop/invalid_calls_count", invalid);
    this.userTurns += 1;
    const fits = this.history.observe(results);
    if (limits.max_invalid_calls !== null && this.invalidInARow >= limits.max_invalid_calls)
      return this.terminate("invalid_calls");
    return this.goOn(fits);
  }

  private async interact(): Promise<AgentState> {
    const turn = await this.user!.respond(this.history.messages);
    this.userTurns += 1;
    this.turnScores.push(turn.score);
    if (turn.terminate) return this.terminate("interaction");
    return this.goOn(this.history.observe([{ role: "user", content: turn.content }]));
  }

  /** Another assistant turn, if one is allowed. */
  private goOn(fits: boolean): AgentState {
    if (!fits) return this.terminate("response_length");
    const { max_assistant_turns: limit } = this.parts.limits;
    return limit !== null && this.assistantTurns >= limit ? this.terminate("max_assistant_turns") : "generating";
  }

  private terminate(reason: TerminationReason): AgentState {
    this.reason = reason;
    return "terminated";
  }

  private parse({ ids }: Generation, prompt: Int32Array, finishReason: "stop" | "length"): ParsedAnswer {
    const { parser, tokenizer } = this.parts;
    const inReasoning = startsInReasoning(tokenizer, prompt);
    return parser.parse(tokenizer.decode(ids), { tools: this.schemas, finishReason, startsInReasoning: inReasoning });
  }

  /** Parses the newest generation, and puts it into the history. */
  private read(generation: Generation, prompt: Int32Array): void {
    const { tokenizer } = this.parts;
    const { ids } = generation;
    const parsed = this.parse(generation, prompt, "stop");
    // Parsers know the end tokens of the models that they are for, and no other.
    const end = endText(tokenizer, ids);
    const answer = { ...parsed, content: without(end, parsed.content), reasoning: without(end, parsed.reasoning) };
    this.answer = answer;
    this.history.answered(answer.calls.length === 0 ? this.withoutCalls(ids) : this.withCalls());
  }

  /** Its text as it is, thoughts included, unless special tokens are part of it (harmony's channels): the parser tells those apart. */
  private withoutCalls(ids: Int32Array): ChatMessage {
    const { tokenizer } = this.parts;
    const text = tokenizer.decode(ids, { skipSpecialTokens: true });
    const { content, reasoning, errors } = this.answer!;
    return errors.length > 0 || tokenizer.decode(ids).startsWith(text)
      ? { role: "assistant", content: text }
      : { role: "assistant", content, ...thought(reasoning) };
  }

  private withCalls(): ChatMessage {
    const { content, reasoning, calls } = this.answer!;
    const names = this.callIds();
    return {
      role: "assistant",
      content,
      ...thought(reasoning),
      // Templates take arguments as an object; as text many would encode them twice.
      tool_calls: calls.map((call, index) => {
        const { id, type, function: called } = openAiToolCall(call, names[index]!);
        return { id, type, function: { ...called, arguments: call.arguments } };
      }),
    };
  }

  /** Ids of the newest answer's calls: nine letters and digits, as some templates want them, where the format has none. */
  private callIds(): string[] {
    return this.answer!.calls.map(({ id }, index) => id ?? `call${String(this.calls + index).padStart(5, "0")}`);
  }

  /** Releases the tools and finishes the interaction, whatever happened. */
  private async close(): Promise<Record<string, number>> {
    this.history.reportDrift();
    const [rewards] = await Promise.all([this.session.close(), this.user?.close()]);
    return rewards;
  }

  private end(fields: Record<string, unknown>): TrajectoryEnd {
    return {
      stopReason: STOP_REASONS[this.reason],
      numTurns: this.userTurns + this.assistantTurns + 1,
      extraFields: {
        ...fields,
        turn_scores: this.turnScores,
        tool_rewards: this.toolRewards,
        tool_calls: this.calls,
        termination_reason: this.reason,
      },
    };
  }
}

/** A text without the end token that it ends with. */
const without = (end: string, text: string): string => {
  const trimmed = text.trim();
  return trimmed.endsWith(end) ? trimmed.slice(0, trimmed.length - end.length).trim() : trimmed;
};

/** What the model is told of a call that could not be read: which it is as well, where the answer has others. */
const unreadText = ({ reason }: ToolCallError, index: number, count: number): string =>
  count === 1 ? `Error: ${reason}` : `Error: call ${index + 1} of ${count} could not be read: ${reason}`;

/** Reasoning, under both names that templates have for it. */
const thought = (reasoning: string): object =>
  reasoning === "" ? {} : { reasoning_content: reasoning, thinking: reasoning };
