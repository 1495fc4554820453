import {
  AGENT_PARTS,
  AgentLoop,
  branchEnds,
  CONFIG,
  containStrayErrors,
  counted,
  Gateway,
  givenReward,
  inject,
  loadAgentFunction,
  LOGGER,
  OPTIONS,
  pickBranch,
  sampledTokens,
  tellsRefusal,
  TOKENIZER,
  trajectoryOf,
  VerlError,
  type AgentContext,
  type AgentFunction,
  type AgentParts,
  type AgentSample,
  type BranchRule,
  type GatewayAccess,
  type GatewaySession,
  type Logger,
  type PpoConfig,
  type Tokenizer,
  type Trajectory,
} from "verl";
import { DroppedTokens } from "./dropped-tokens.ts";

export interface GatewayAgentOptions {
  path: string;
  function: string;
  branches: BranchRule;
  max_requests: number;
}

/** The parts of the config that are read. */
export interface GatewayAgentConfig {
  data: Pick<PpoConfig["data"], "apply_chat_template_kwargs">;
  actor_rollout_ref: { rollout: Pick<PpoConfig["actor_rollout_ref"]["rollout"], "prompt_length"> };
}

const MODEL = "policy";

/** Runs an agent that somebody wrote against OpenAI's API, and trains on what it sampled through the gateway. */
export class GatewayAgentLoop extends AgentLoop {
  private readonly gateway: Gateway;
  private readonly dropped: DroppedTokens;
  private agent: Promise<AgentFunction> | undefined;

  constructor(
    @inject(OPTIONS) private readonly options: GatewayAgentOptions,
    @inject(CONFIG) private readonly config: GatewayAgentConfig,
    @inject(TOKENIZER) tokenizer: Tokenizer,
    @inject(AGENT_PARTS) parts: AgentParts,
    @inject(LOGGER) private readonly log: Logger,
  ) {
    super();
    this.dropped = new DroppedTokens(options.path, log);
    this.gateway = new Gateway({
      tokenizer,
      parser: () => parts.parser,
      templateVariables: config.data.apply_chat_template_kwargs,
      model: MODEL,
    });
  }

  /** Loads the agent's file. @throws VerlError VERL_AGENT_FUNCTION */
  override async prepare(): Promise<void> {
    await this.load();
  }

  async run({ messages, row, validate, uid, sampleIndex }: AgentSample, ctx: AgentContext): Promise<Trajectory> {
    const agent = await this.load();
    const access = await this.gateway.open({
      rollout: ctx.rollout,
      sampling: ctx.sampling,
      choosesSampling: false,
      promptLength: this.config.actor_rollout_ref.rollout.prompt_length,
      maxRequests: this.options.max_requests,
      sticky: `${uid}/${sampleIndex}`,
      log: this.log,
    });
    const { session } = access;
    this.dropped.begin();
    try {
      const result = await this.work(agent, { messages, row, validate }, access, ctx);
      return this.trajectory(session, result, validate, ctx);
    } finally {
      await this.gateway.close(session);
      report(session, ctx);
      this.dropped.end();
    }
  }

  private load(): Promise<AgentFunction> {
    return (this.agent ??= loadAgentFunction(this.options.path, this.options.function));
  }

  /** What the agent returns; undefined where it threw what it was told because its conversation had no room left. */
  private async work(
    agent: AgentFunction,
    task: Parameters<AgentFunction>[0],
    { session, baseURL, apiKey }: GatewayAccess,
    ctx: AgentContext,
  ): Promise<unknown> {
    const { signal } = ctx;
    const contain = <T>(work: () => T): T => containStrayErrors((error) => this.tellStray(error, ctx), work);
    const own = new AbortController();
    const ended = new Promise<never>((_, reject) => {
      const end = (): void => {
        reject(signal.reason as Error);
        // Here, as listeners are run by whoever aborts.
        contain(() => own.abort(signal.reason));
      };
      signal.addEventListener("abort", end, { once: true });
    });
    signal.throwIfAborted();
    const endpoint = { baseURL, apiKey, model: MODEL, signal: own.signal };
    const running = contain(() => Promise.resolve().then(() => agent(task, endpoint)));
    let result: unknown;
    try {
      result = await Promise.race([ended, running]);
    } catch (error) {
      signal.throwIfAborted();
      const outOfRoom = session.exchanges.length > 0 && tellsRefusal(error, session.refusals);
      if (session.fault === undefined && !outOfRoom) throw error;
    }
    // Whatever the agent made of an answer that it did not get, it is none of the policy.
    if (session.fault !== undefined) throw session.fault.error;
    return result;
  }

  /** What the agent left to itself is no fault of the sample, whose answer it has given or will give. */
  private tellStray(error: unknown, ctx: AgentContext): void {
    ctx.metric("agent_loop/gateway_stray_errors_count", 1);
    const { path } = this.options;
    const told = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.log.warnOnce(
      `gateway_agent_stray:${path}`,
      `The agent of ${path} left a promise, a timer or a socket to itself, and nobody caught its error, which ends nothing. ` +
        `Await each request, or catch its error. More of them are only counted (agent_loop/gateway_stray_errors_count). ${told}`,
    );
  }

  private trajectory(session: GatewaySession, result: unknown, validate: boolean, ctx: AgentContext): Trajectory {
    const ends = branchEnds(session.exchanges);
    if (ends.length === 0) throw this.unanswered(session);
    const end = pickBranch(ends, this.options.branches);
    if (end === undefined) {
      throw this.fault(
        `The agent had ${ends.length} conversations, and \`branches\` is fail.`,
        "Set `branches` to longest or last to train on one of them, or let the agent only append to its messages.",
      );
    }
    const all = session.exchanges.reduce((sum, { answer }) => sum + answer.ids.length, 0);
    const dropped = all - sampledTokens(end);
    ctx.metric("agent_loop/gateway_branches", ends.length);
    ctx.metric("agent_loop/gateway_dropped_branches_count", ends.length - 1);
    ctx.metric("agent_loop/gateway_dropped_tokens_count", dropped);
    if (!validate) this.dropped.add(all, dropped);
    const given = typeof result === "object" && result !== null && "reward" in result ? result.reward : undefined;
    const reward = givenReward(given, `The agent of ${this.options.path}`);
    return {
      ...trajectoryOf(end),
      ...(reward === undefined ? {} : { rewardScore: reward }),
      ...(session.refusals.size > 0 ? { stopReason: "limit" as const } : {}),
      extraFields: result === undefined ? {} : { agent_result: result },
    };
  }

  private unanswered({ counts, lastError }: GatewaySession): VerlError {
    if (lastError === undefined) {
      return this.fault(
        "The agent ended without an answer of the model, so there is nothing to train on.",
        "Let it use the baseURL and the apiKey that it is given.",
      );
    }
    const { status, message } = lastError;
    return this.fault(
      `The agent made ${counted(counts.failed, "request")}, none of which was answered, so there is nothing to train on. The last was told: ${status} ${message}`,
      "Let the agent ask for what is served, and throw what it is told instead.",
    );
  }

  private fault(message: string, hint: string): VerlError {
    return new VerlError("VERL_AGENT_FUNCTION", message, { location: { file: this.options.path }, hint });
  }
}

function report({ counts }: GatewaySession, ctx: AgentContext): void {
  ctx.metric("agent_loop/gateway_requests", counts.requests);
  ctx.metric("agent_loop/gateway_failed_requests_count", counts.failed);
  ctx.metric("agent_loop/gateway_history_breaks_count", counts.historyBreaks);
  ctx.metric("agent_loop/gateway_aborted_requests_count", counts.aborted);
  ctx.metric("agent_loop/gateway_sampling_overridden_count", counts.samplingOverridden);
  ctx.metric("agent_loop/gateway_forms_not_enforced_count", counts.formsNotEnforced);
  ctx.metric("agent_loop/gateway_template_variables_count", counts.templateVariables);
  ctx.metric("agent_loop/gateway_unknown_fields_count", counts.unknownFields);
  ctx.metric("agent_loop/gateway_calls_left_out_count", counts.callsLeftOut);
  ctx.metric("agent_loop/invalid_calls_count", counts.invalidCalls);
}
