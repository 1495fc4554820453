import {
  inject,
  nearest,
  OPTIONS,
  Tool,
  ToolServer,
  VerlError,
  type TokenBucket,
  type ToolContext,
  type ToolResult,
  type ToolSchema,
} from "verl";
import { rateLimit } from "../call-limits.ts";
import { McpConnection, type ListedTool } from "./connection.ts";
import { readServersFile } from "./servers-file.ts";

export interface McpOptions {
  mcp: { mcp_servers_config_path: string; tool_selected_list: readonly string[] | null; tool_name_prefix: boolean };
  rate_limit: number;
  timeout: number;
}

/** The tools of MCP servers, over standard streams or streamable HTTP. */
export class McpTools extends ToolServer {
  private readonly connections: McpConnection[];
  private readonly rate: TokenBucket;

  constructor(@inject(OPTIONS) private readonly options: McpOptions) {
    super();
    this.rate = rateLimit(options.rate_limit);
    this.connections = readServersFile(options.mcp.mcp_servers_config_path).map(
      ([name, server]) => new McpConnection(name, server, options.timeout),
    );
  }

  async open(): Promise<readonly Tool[]> {
    const { tool_selected_list: wanted, tool_name_prefix } = this.options.mcp;
    const lists = await Promise.all(
      this.connections.map(async (server): Promise<NamedTool[]> => {
        const prefix = tool_name_prefix ? `${server.name.replace(/[^A-Za-z0-9_-]/g, "_")}_` : "";
        return (await server.list()).map((tool) => ({ server, tool, name: `${prefix}${tool.name}` }));
      }),
    );
    checkSelected(
      wanted ?? [],
      this.connections.map((server, index) => ({ server, names: lists[index]!.map(({ name }) => name) })),
    );
    const offered = lists.flat().filter(({ name }) => wanted === null || wanted.includes(name));
    checkNames(offered);
    return offered.map((named) => new McpTool(named, this.rate));
  }

  async close(): Promise<void> {
    await Promise.all(this.connections.map((server) => server.close()));
  }
}

/** A tool, under the name that the model calls it by. */
interface NamedTool {
  server: McpConnection;
  tool: ListedTool;
  name: string;
}

/** @throws VerlError VERL_AGENT_TOOL for tools of one name, which the model could not tell apart */
function checkNames(tools: readonly NamedTool[]): void {
  const byName = new Map<string, NamedTool>();
  for (const named of tools) {
    const other = byName.get(named.name);
    byName.set(named.name, named);
    if (other === undefined) continue;
    throw new VerlError(
      "VERL_AGENT_TOOL",
      `The MCP servers "${other.server.name}" and "${named.server.name}" both offer a tool "${named.name}".`,
      {
        hint: "Set `tool_name_prefix: true` beside `mcp_servers_config_path`: tools are then called <server>_<tool>, in `tool_selected_list` too.",
      },
    );
  }
}

/** @throws VerlError VERL_AGENT_TOOL for a name that no server has, with those that there are */
function checkSelected(
  wanted: readonly string[],
  lists: readonly { server: McpConnection; names: readonly string[] }[],
): void {
  const all = lists.flatMap(({ names }) => names);
  const missing = wanted.find((name) => !all.includes(name));
  if (missing === undefined) return;
  const meant = nearest(missing, all);
  const there = lists.map(({ server, names }) => `"${server.name}" has ${names.join(", ") || "none"}`);
  throw new VerlError(
    "VERL_AGENT_TOOL",
    `\`tool_selected_list\` names "${missing}", which no MCP server has: ${there.join("; ")}.`,
    {
      hint: `${meant.length === 0 ? "" : `Did you mean ${meant.join(" or ")}? `}Leave \`tool_selected_list\` out for all of them.`,
    },
  );
}

class McpTool extends Tool {
  readonly schema: ToolSchema;

  constructor(
    private readonly named: NamedTool,
    private readonly rate: TokenBucket,
  ) {
    super();
    const { description, inputSchema: parameters } = named.tool;
    this.schema = { type: "function", function: { name: named.name, description, parameters } };
  }

  override create(): Promise<string> {
    // MCP knows of no samples.
    return Promise.resolve("");
  }

  async execute(_instance: string, args: Readonly<Record<string, unknown>>, ctx: ToolContext): Promise<ToolResult> {
    await this.rate.take(1, ctx.signal);
    const { server, tool } = this.named;
    return { content: await server.call(tool.name, args, ctx.signal) };
  }
}
