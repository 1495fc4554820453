import type { ValidateFunction } from "ajv";
import { reasonOf } from "../errors/reason-of.ts";
import { VerlError } from "../errors/verl-error.ts";
import type { Logger } from "../registry/logger.ts";
import type { RunContainer } from "../registry/run-container.ts";
import { withDeadline } from "../reward/deadline.ts";
import { readClassesFile, type ListedClass } from "../config/classes-file.ts";
import { compileParameters } from "../config/tool-parameters.ts";
import type { Tool } from "./tool.ts";
import { TOOL_ENTRY, ToolServer, type ToolSchema } from "./tool.ts";

/** A tool as a run offers it. */
export interface OfferedTool {
  readonly tool: Tool;
  /** As the model sees it. */
  readonly schema: ToolSchema;
  /** What is wrong with arguments, in words for the model; undefined where nothing is. */
  readonly faults: (args: Readonly<Record<string, unknown>>) => string | undefined;
  /** Seconds that a call may take; undefined: the run's own limit. */
  readonly timeout?: number;
}

/** Seconds that servers have to close: less than a rank has to end. */
const CLOSE_S = 8;

/** Path of the tools file in the config. */
const OPTION = "actor_rollout_ref.rollout.multi_turn.tool_config_path";

/**
 * The tools of a run, from verl's tools file: `tools:`, a list of `class_name` (a key of the registry `tool`), `config` (its options),
 * `tool_schema` and `timeout_s`. Each is constructed once and serves all samples; servers are asked for their tools once.
 */
export class ToolBox {
  private offered: Promise<ReadonlyMap<string, OfferedTool>> | undefined;
  private readonly servers: ToolServer[] = [];

  constructor(
    private readonly container: RunContainer,
    private readonly path: string | null,
    private readonly log: Logger,
  ) {}

  /** Every tool by its name. @throws VerlError VERL_AGENT_FILE, VERL_OPTIONS_INVALID, VERL_AGENT_TOOL, or what a server refuses with. */
  tools(): Promise<ReadonlyMap<string, OfferedTool>> {
    return (this.offered ??= this.open());
  }

  /** Closes the servers, those that are being opened too; what has not ended by 8 s is told of and left. Tools must not be called any more. */
  async close(): Promise<void> {
    const closeAll = async (): Promise<void> => {
      // One that is being opened is waited for no more.
      await this.closeServers();
      await this.offered?.catch(() => undefined);
      await this.closeServers();
    };
    await withDeadline(CLOSE_S, closeAll).catch((error: unknown) =>
      this.log.warn(`The tool servers did not close: ${reasonOf(error)}`),
    );
  }

  private async closeServers(): Promise<void> {
    const close = async (server: ToolServer): Promise<void> => {
      try {
        await server.close();
      } catch (error) {
        this.log.warn(`A tool server did not close: ${reasonOf(error)}`);
      }
    };
    await Promise.all(this.servers.splice(0).map(close));
  }

  private async open(): Promise<ReadonlyMap<string, OfferedTool>> {
    const tools = new Map<string, OfferedTool>();
    for (const listed of readClassesFile("tool", this.path)) {
      for (const offered of await this.create(listed)) {
        const { name } = offered.schema.function;
        if (tools.has(name)) {
          throw new VerlError("VERL_AGENT_TOOL", `Two tools are called "${name}".`, {
            location: { file: this.path!, path: OPTION },
            hint: "Give one of them another name in its tool_schema; of an MCP server, leave it out by tool_selected_list or set tool_name_prefix.",
          });
        }
        tools.set(name, offered);
      }
    }
    return tools;
  }

  private async create({ key, options, locate, entry }: ListedClass): Promise<OfferedTool[]> {
    const { tool_schema, timeout_s } = entry;
    const instance = this.container.create("tool", key, { options, locate, values: { [TOOL_ENTRY]: entry } });
    const timeout = (timeout_s as number | null | undefined) ?? undefined;
    if (instance instanceof ToolServer) {
      this.servers.push(instance);
      return (await instance.open()).map((tool) => this.offer(tool, tool.schema, timeout));
    }
    return [this.offer(instance, (tool_schema as ToolSchema | null | undefined) ?? instance.schema, timeout)];
  }

  private offer(tool: Tool, schema: ToolSchema, timeout: number | undefined): OfferedTool {
    if (typeof schema?.function?.name !== "string" || schema.function.name === "") {
      throw new VerlError(
        "VERL_AGENT_TOOL",
        `A tool of the class ${tool.constructor.name} has no name in its schema.`,
        {
          location: { file: this.path ?? undefined, path: OPTION },
          hint: "A schema is { type: function, function: { name, description, parameters } }.",
        },
      );
    }
    return { tool, schema, timeout, faults: argumentFaults(schema, this.log) };
  }
}

function argumentFaults({ function: { name, parameters } }: ToolSchema, log: Logger): OfferedTool["faults"] {
  let validate: ValidateFunction;
  try {
    validate = compileParameters(parameters ?? {});
  } catch (error) {
    log.warn(`The parameters of the tool "${name}" are no JSON Schema, so arguments are not checked: ${String(error)}`);
    return () => undefined;
  }
  return (args) => {
    if (validate(numbersOf(args))) return undefined;
    const [error] = validate.errors ?? [];
    return `${error?.instancePath.slice(1).replaceAll("/", ".") || "the object"} ${error?.message ?? "does not fit"}`;
  };
}

/** The same with large integers as numbers: the validator knows no bigint. */
function numbersOf(value: unknown): unknown {
  if (typeof value === "bigint") return Number(value);
  if (Array.isArray(value)) return value.map(numbersOf);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, numbersOf(field)]));
}
