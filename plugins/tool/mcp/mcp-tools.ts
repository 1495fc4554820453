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
  mcp: { mcp_servers_config_path: string; tool_selected_list: readonly string[] | null };
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
    const wanted = this.options.mcp.tool_selected_list;
    const lists = await Promise.all(this.connections.map(async (server) => ({ server, tools: await server.list() })));
    checkSelected(wanted ?? [], lists);
    return lists.flatMap(({ server, tools }) =>
      tools
        .filter(({ name }) => wanted === null || wanted.includes(name))
        .map((tool) => new McpTool(server, tool, this.rate)),
    );
  }

  async close(): Promise<void> {
    await Promise.all(this.connections.map((server) => server.close()));
  }
}

/** @throws VerlError VERL_AGENT_TOOL for a name that no server has, with those that there are */
function checkSelected(
  wanted: readonly string[],
  lists: readonly { server: McpConnection; tools: readonly ListedTool[] }[],
): void {
  const names = lists.flatMap(({ tools }) => tools.map(({ name }) => name));
  const missing = wanted.find((name) => !names.includes(name));
  if (missing === undefined) return;
  const meant = nearest(missing, names);
  const there = lists.map(({ server, tools }) => `"${server.name}" has ${listed(tools.map(({ name }) => name))}`);
  throw new VerlError(
    "VERL_AGENT_TOOL",
    `\`tool_selected_list\` names "${missing}", which no MCP server has: ${there.join("; ")}.`,
    {
      hint: `${meant.length === 0 ? "" : `Did you mean ${meant.join(" or ")}? `}Leave \`tool_selected_list\` out for all of them.`,
    },
  );
}

const listed = (names: readonly string[]): string => names.join(", ") || "none";

class McpTool extends Tool {
  readonly schema: ToolSchema;

  constructor(
    private readonly server: McpConnection,
    { name, description, inputSchema }: ListedTool,
    private readonly rate: TokenBucket,
  ) {
    super();
    this.schema = { type: "function", function: { name, description, parameters: inputSchema } };
  }

  override create(): Promise<string> {
    // MCP knows of no samples.
    return Promise.resolve("");
  }

  async execute(_instance: string, args: Readonly<Record<string, unknown>>, ctx: ToolContext): Promise<ToolResult> {
    await this.rate.take(1, ctx.signal);
    return { content: await this.server.call(this.schema.function.name, args, ctx.signal) };
  }
}
