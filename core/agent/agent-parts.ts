import type { PpoConfig } from "../config/index.ts";
import type { PromptTools } from "../data/dataset.ts";
import { VerlError } from "../errors/verl-error.ts";
import type { Logger } from "../registry/logger.ts";
import { nearest } from "../registry/nearest.ts";
import { registries } from "../registry/registries.ts";
import type { RunContainer } from "../registry/run-container.ts";
import type { AgentLoop } from "./agent-loop.ts";
import { AgentsFile } from "../config/agents-file.ts";
import { readClassesFile, type ListedClass } from "../config/classes-file.ts";
import type { Interaction } from "./interaction.ts";
import { agentOf, knownTools, meant, selectTools, toolsKwargsOf } from "./row-fields.ts";
import { ToolBox, type OfferedTool } from "./tool-box.ts";
import type { ToolParser } from "./tool-parser.ts";

/** Token of the run's `AgentParts`, for agent loops. */
export const AGENT_PARTS: unique symbol = Symbol.for("verl.token.AGENT_PARTS");

/** The loop whose tools a row's `tool_selection` names. Rows of others may name what these have by themselves. */
const TOOL_AGENT = "tool_agent";

/** The part of the config that is read. */
export interface AgentPartsConfig {
  actor_rollout_ref: {
    rollout: Pick<PpoConfig["actor_rollout_ref"]["rollout"], "multi_turn" | "agent">;
  };
}

/** Fields of a tool's arguments in verl's rows. */
const TOOL_FIELDS: ReadonlySet<string> = new Set([
  "create_kwargs",
  "execute_kwargs",
  "calc_reward_kwargs",
  "release_kwargs",
]);

/** Tools that rows have arguments for and the run has not: so many are told of. */
const UNKNOWN_SHOWN = 10;
const MULTI_TURN = "actor_rollout_ref.rollout.multi_turn";

/** What the agent loops of one run share: the tools, the interactions, the parser, each made when it is first asked for. */
export class AgentParts {
  private readonly box: ToolBox;
  /** Besides, a file of tools that is only being read. */
  private reading: ToolBox | undefined;
  private parsing: ToolParser | undefined;
  private talking: ReadonlyMap<string, Interaction> | undefined;
  private talkers: ReadonlySet<string> | undefined;
  private loops: AgentsFile | undefined;
  private readonly unknown = new Set<string>();

  constructor(
    private readonly container: RunContainer,
    private readonly config: AgentPartsConfig,
    private readonly log: Logger,
  ) {
    this.box = new ToolBox(container, this.multiTurn.tool_config_path, log);
  }

  /** Every tool of `multi_turn.tool_config_path`, by name. */
  tools(): Promise<ReadonlyMap<string, OfferedTool>> {
    return this.box.tools();
  }

  /**
   * Tools of one row: those of its `tool_selection`, all where it has none.
   * @throws VerlError VERL_AGENT_TOOL for a name that no tool has
   */
  async toolsOf(row: Readonly<Record<string, unknown>>): Promise<ReadonlyMap<string, OfferedTool>> {
    return selectTools(await this.tools(), row);
  }

  /**
   * A row's `tools_kwargs`, by tool. Those of a tool that the run does not have are told of once: a dataset may serve several runs.
   * @throws VerlError VERL_AGENT_TOOL for one of another form
   */
  async toolsKwargsOf(row: Readonly<Record<string, unknown>>): Promise<Readonly<Record<string, unknown>>> {
    const kwargs = toolsKwargsOf(row);
    const tools = await this.tools();
    for (const [name, own] of Object.entries(kwargs)) {
      if (tools.has(name)) this.tellUnknownFields(name, own);
      if (own === null || tools.has(name) || this.unknown.has(name) || this.unknown.size === UNKNOWN_SHOWN) continue;
      this.unknown.add(name);
      this.log.warn(
        `Rows have tools_kwargs for "${name}", which is no tool of this run; they are ignored. ${meant(name, tools).trimEnd()}`,
      );
    }
    return kwargs;
  }

  /** verl's rows have more fields beside `create_kwargs`, which concern nothing here; others are slips of the pen. */
  private tellUnknownFields(tool: string, own: unknown): void {
    for (const field of Object.keys(own ?? {})) {
      const path = `tools_kwargs.${tool}.${field}`;
      if (TOOL_FIELDS.has(field) || this.unknown.has(path) || this.unknown.size === UNKNOWN_SHOWN) continue;
      this.unknown.add(path);
      const near = nearest(field, TOOL_FIELDS);
      const question = near.length === 0 ? "" : `Did you mean ${near.join(" or ")}? `;
      this.log.warn(`Rows have ${path}, which nothing reads. ${question}Arguments of a sample stand in create_kwargs.`);
    }
  }

  /**
   * Schemas that a row's prompt is templated with.
   * @param path `data.tool_config_path`: the same file as the loops', another one, or null for none
   * @param defaultLoop that of rows without `agent_name`
   */
  async promptTools(path: string | null, defaultLoop: string): Promise<PromptTools> {
    if (path === null) return () => [];
    if (path === this.multiTurn.tool_config_path) return schemasBySelection(await this.tools(), defaultLoop);
    const other = (this.reading = new ToolBox(this.container, path, this.log));
    try {
      return schemasBySelection(await other.tools(), defaultLoop);
    } finally {
      await other.close();
    }
  }

  /** The parser of `multi_turn.format`. */
  get parser(): ToolParser {
    return (this.parsing ??= this.container.create("tool_parser", this.multiTurn.format));
  }

  /** Whether `multi_turn.interaction_config_path` names any interaction. */
  get hasInteractions(): boolean {
    return this.multiTurn.interaction_config_path !== null;
  }

  /** The interaction of that name. @throws as `requireInteraction` */
  interaction(name: unknown): Interaction {
    this.requireInteraction(name);
    return (this.talking ??= this.loadInteractions()).get(name as string)!;
  }

  /** Makes sure that there is an interaction of that name; none is made. @throws VerlError VERL_AGENT_INTERACTION with the names that there are */
  requireInteraction(name: unknown): void {
    const names = (this.talkers ??= new Set(this.listInteractions().map(nameOf)));
    if (names.has(name as string)) return;
    const what =
      name === undefined ? "A row names no interaction" : `A row names the interaction ${JSON.stringify(name)}`;
    const meant = typeof name === "string" ? nearest(name, names) : [];
    throw new VerlError("VERL_AGENT_INTERACTION", `${what}; the interactions are ${[...names].join(", ") || "none"}.`, {
      location: { path: `${MULTI_TURN}.interaction_config_path` },
      hint: `${meant.length > 0 ? `Did you mean ${meant.join(" or ")}? ` : ""}Rows name one in interaction_kwargs.name (or extra_info.interaction_kwargs.name).`,
    });
  }

  /**
   * The agent loop of a row's `agent_name`: an entry of `agent.agent_loop_config_path` of that name, or a key of the registry.
   * Entries have a `name`, `_target_` (a key of the registry `agent_loop`) and the loop's options beside them.
   * @throws VerlError VERL_REGISTRY_KEY_UNKNOWN with the nearest of both
   */
  createLoop(name: string): AgentLoop {
    const { key = name, ...more } = this.findLoop(name) ?? {};
    return this.container.create("agent_loop", key, more);
  }

  /** The class of `createLoop`'s loop, of which none is made, and its key of the registry. @throws as `createLoop` */
  loopClass(name: string): { key: string; loop: typeof AgentLoop } {
    const { key = name } = this.findLoop(name) ?? {};
    return { key, loop: registries.agent_loop.resolve(key).create as unknown as typeof AgentLoop };
  }

  /** Ends what the tools hold open. */
  async close(): Promise<void> {
    await Promise.all([this.box.close(), this.reading?.close()]);
  }

  private get multiTurn(): AgentPartsConfig["actor_rollout_ref"]["rollout"]["multi_turn"] {
    return this.config.actor_rollout_ref.rollout.multi_turn;
  }

  private findLoop(name: string): ReturnType<AgentsFile["find"]> {
    this.loops ??= new AgentsFile(this.config.actor_rollout_ref.rollout.agent.agent_loop_config_path);
    this.loops.require(name);
    return this.loops.find(name);
  }

  private loadInteractions(): ReadonlyMap<string, Interaction> {
    return new Map(
      this.listInteractions().map((listed) => {
        const { key, options, locate } = listed;
        return [nameOf(listed), this.container.create("interaction", key, { options, locate })];
      }),
    );
  }

  private listInteractions(): ListedClass[] {
    return readClassesFile("interaction", this.multiTurn.interaction_config_path);
  }
}

/** The name that an interaction goes by. */
const nameOf = ({ entry, key }: ListedClass): string => (typeof entry.name === "string" ? entry.name : key);

/** The schemas as chat templates take them. */
export const schemasOf = (tools: ReadonlyMap<string, OfferedTool>): Record<string, unknown>[] =>
  [...tools.values()].map(({ schema }) => ({ ...schema }));

const schemasBySelection =
  (tools: ReadonlyMap<string, OfferedTool>, defaultLoop: string): PromptTools =>
  (row) =>
    schemasOf(agentOf(row, defaultLoop) === TOOL_AGENT ? selectTools(tools, row) : knownTools(tools, row));
