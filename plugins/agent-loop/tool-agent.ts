import {
  AGENT_PARTS,
  AgentLoop,
  CONFIG,
  inject,
  LOGGER,
  rowField,
  rowObject,
  schemasOf,
  TOKENIZER,
  TurnTokens,
  type AgentContext,
  type AgentParts,
  type AgentSample,
  type Logger,
  type OfferedTool,
  type PpoConfig,
  type RowFields,
  type Tokenizer,
  type Trajectory,
} from "verl";
import { ToolConversation } from "./tool-conversation.ts";

/** The parts of the config that are read. */
export interface ToolAgentConfig {
  data: Pick<PpoConfig["data"], "apply_chat_template_kwargs">;
  actor_rollout_ref: { rollout: Pick<PpoConfig["actor_rollout_ref"]["rollout"], "multi_turn"> };
}

/** Where drift is only counted, one conversation in so many is looked at: they share the template, and rendering a history costs time. */
const LOOKED_AT = 64;

/** Conversations of several turns: the model calls tools and is told their results, and a simulated user answers it. */
export class ToolAgentLoop extends AgentLoop {
  /** By the set of tools: most rows have the same. */
  private readonly turnTokens = new Map<string, TurnTokens>();
  private begun = 0;

  constructor(
    @inject(CONFIG) private readonly config: ToolAgentConfig,
    @inject(TOKENIZER) private readonly tokenizer: Tokenizer,
    @inject(AGENT_PARTS) private readonly parts: AgentParts,
    @inject(LOGGER) private readonly log: Logger,
  ) {
    super();
  }

  static override checkRow(row: RowFields, parts: AgentParts): void | Promise<void> {
    if (parts.hasInteractions) parts.requireInteraction(interactionKwargsOf(row).name);
    // Most datasets have no such rows, and then wait for nothing.
    if (["tool_selection", "tools_kwargs"].some((name) => rowField(row, name) !== undefined))
      return checkTools(row, parts);
  }

  async run(sample: AgentSample, ctx: AgentContext): Promise<Trajectory> {
    const tools = await this.parts.toolsOf(sample.row);
    const { hasInteractions } = this.parts;
    const interactionKwargs = hasInteractions ? interactionKwargsOf(sample.row) : {};
    const { multi_turn: limits } = this.config.actor_rollout_ref.rollout;
    const conversation = new ToolConversation({
      looksForDrift: limits.template_drift !== "append" || this.begun++ % LOOKED_AT === 0,
      sample,
      ctx,
      tools,
      tokenizer: this.tokenizer,
      tokens: this.tokensFor(tools),
      parser: this.parts.parser,
      interaction: hasInteractions ? this.parts.interaction(interactionKwargs.name) : undefined,
      interactionKwargs,
      toolsKwargs: await this.parts.toolsKwargsOf(sample.row),
      limits,
      log: this.log,
    });
    return conversation.run();
  }

  private tokensFor(tools: ReadonlyMap<string, OfferedTool>): TurnTokens {
    const names = [...tools.keys()].join(" ");
    let tokens = this.turnTokens.get(names);
    if (tokens === undefined) {
      const { apply_chat_template_kwargs: variables } = this.config.data;
      tokens = new TurnTokens(this.tokenizer, { ...variables, tools: schemasOf(tools) });
      this.turnTokens.set(names, tokens);
    }
    return tokens;
  }
}

const interactionKwargsOf = (row: RowFields): RowFields =>
  rowObject(row, "interaction_kwargs", "VERL_AGENT_INTERACTION");

async function checkTools(row: RowFields, parts: AgentParts): Promise<void> {
  await parts.toolsOf(row);
  await parts.toolsKwargsOf(row);
}
