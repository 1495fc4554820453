import {
  inject,
  OPTIONS,
  Tool,
  ToolServer,
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
    return { content: await this.server.call(this.schema.function.name, withoutBigInts(args), ctx.signal) };
  }
}

/** JSON as the protocol's client writes it has no integers beyond 2^53; rounding one unseen would name another thing. */
function withoutBigInts<T>(value: T): T {
  if (typeof value === "bigint") throw new Error(`the integer ${value} is too large for an MCP server`);
  if (typeof value === "object" && value !== null) Object.values(value).forEach(withoutBigInts);
  return value;
}
