import {
  AGENT_PARTS,
  AgentLoop,
  branchEnds,
  CONFIG,
  Gateway,
  givenReward,
  inject,
  loadAgentFunction,
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
  type PpoConfig,
  type Tokenizer,
  type Trajectory,
} from "verl";

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
  private agent: Promise<AgentFunction> | undefined;

  constructor(
    @inject(OPTIONS) private readonly options: GatewayAgentOptions,
    @inject(CONFIG) private readonly config: GatewayAgentConfig,
    @inject(TOKENIZER) tokenizer: Tokenizer,
    @inject(AGENT_PARTS) parts: AgentParts,
  ) {
    super();
    this.gateway = new Gateway({
      tokenizer,
      parser: () => parts.parser,
      templateVariables: config.data.apply_chat_template_kwargs,
      model: MODEL,
    });
  }

  async run({ messages, row, validate, uid, sampleIndex }: AgentSample, ctx: AgentContext): Promise<Trajectory> {
    this.agent ??= loadAgentFunction(this.options.path, this.options.function);
    const agent = await this.agent;
    const access = await this.gateway.open({
      rollout: ctx.rollout,
      sampling: ctx.sampling,
      choosesSampling: false,
      promptLength: this.config.actor_rollout_ref.rollout.prompt_length,
      maxRequests: this.options.max_requests,
      sticky: `${uid}/${sampleIndex}`,
    });
    const { session } = access;
    try {
      const result = await this.work(agent, { messages, row, validate }, access, ctx.signal);
      return this.trajectory(session, result, ctx);
    } finally {
      await this.gateway.close(session);
      report(session, ctx);
    }
  }

  /** What the agent returns; undefined where it threw what it was told because its conversation had no room left. */
  private async work(
    agent: AgentFunction,
    task: Parameters<AgentFunction>[0],
    { session, baseURL, apiKey }: GatewayAccess,
    signal: AbortSignal,
  ): Promise<unknown> {
    const ended = new Promise<never>((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
    });
    signal.throwIfAborted();
    const running = Promise.resolve().then(() => agent(task, { baseURL, apiKey, model: MODEL, signal }));
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

  private trajectory(session: GatewaySession, result: unknown, ctx: AgentContext): Trajectory {
    const ends = branchEnds(session.exchanges);
    const end = pickBranch(ends, this.options.branches);
    if (end === undefined) {
      throw new VerlError(
        "VERL_AGENT_FUNCTION",
        ends.length === 0
          ? "The agent ended without an answer of the model, so there is nothing to train on."
          : `The agent had ${ends.length} conversations, and \`branches\` is fail.`,
        {
          location: { file: this.options.path },
          hint:
            ends.length === 0
              ? "Let it use the baseURL and the apiKey that it is given."
              : "Set `branches` to longest or last to train on one of them, or let the agent only append to its messages.",
        },
      );
    }
    const all = session.exchanges.reduce((sum, { answer }) => sum + answer.ids.length, 0);
    ctx.metric("agent_loop/gateway_branches", ends.length);
    ctx.metric("agent_loop/gateway_dropped_branches_count", ends.length - 1);
    ctx.metric("agent_loop/gateway_dropped_tokens_count", all - sampledTokens(end));
    const given = typeof result === "object" && result !== null && "reward" in result ? result.reward : undefined;
    const reward = givenReward(given, `The agent of ${this.options.path}`);
    return {
      ...trajectoryOf(end),
      ...(reward === undefined ? {} : { rewardScore: reward }),
      ...(session.refusals.size > 0 ? { stopReason: "limit" as const } : {}),
      extraFields: result === undefined ? {} : { agent_result: result },
    };
  }
}

function report({ counts }: GatewaySession, ctx: AgentContext): void {
  ctx.metric("agent_loop/gateway_requests", counts.requests);
  ctx.metric("agent_loop/gateway_failed_requests_count", counts.failed);
  ctx.metric("agent_loop/gateway_history_breaks_count", counts.historyBreaks);
  ctx.metric("agent_loop/gateway_aborted_requests_count", counts.aborted);
  ctx.metric("agent_loop/gateway_sampling_overridden_count", counts.samplingOverridden);
  ctx.metric("agent_loop/gateway_calls_left_out_count", counts.callsLeftOut);
  ctx.metric("agent_loop/invalid_calls_count", counts.invalidCalls);
}
