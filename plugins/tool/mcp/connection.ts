import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { VERSION, VerlError } from "verl";
import { fetchWithLargeIntegers, markLargeIntegers, writeLargeIntegers } from "./large-integers.ts";
import type { McpServer } from "./servers-file.ts";

/** A tool as its server lists it. */
export interface ListedTool {
  name: string;
  description?: string;
  inputSchema: Record<string, unknown>;
}

/** Lists are paged; no honest server has more. */
const MOST_PAGES = 100;

/** The connection to one MCP server. One that broke is opened anew by the next call. */
export class McpConnection {
  private client: Promise<Client> | undefined;
  private closed = false;

  constructor(
    readonly name: string,
    private readonly server: McpServer,
    /** Seconds that connecting may take. */
    private readonly timeout: number,
  ) {}

  async list(): Promise<ListedTool[]> {
    const client = await this.connected();
    const tools: ListedTool[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const listed = await client.listTools({ cursor }, { timeout: this.timeout * 1000 });
      tools.push(...listed.tools);
      cursor = listed.nextCursor;
      if (cursor === undefined) break;
    }
    return tools;
  }

  /** What the tool answers, as text. @throws Error with the server's words when the tool says that it failed */
  async call(name: string, args: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<string> {
    const client = await this.connected();
    // The deadline is the signal's.
    const options = { signal, timeout: 2 ** 31 - 1 };
    const result = await client.callTool({ name, arguments: { ...args } }, undefined, options);
    const text = textOf(result);
    if (result.isError === true) throw new Error(text);
    return text;
  }

  async close(): Promise<void> {
    this.closed = true;
    const client = await this.client?.catch(() => undefined);
    await client?.close();
  }

  private connected(): Promise<Client> {
    if (this.closed) throw new Error(`the MCP server "${this.name}" is closed`);
    if (this.client !== undefined) return this.client;
    const opening = this.open();
    this.client = opening;
    opening.catch(() => this.forget(opening));
    return opening;
  }

  private forget(client: Promise<Client>): void {
    if (this.client === client) this.client = undefined;
  }

  private async open(): Promise<Client> {
    const { Client: SdkClient } = await sdk(() => import("@modelcontextprotocol/sdk/client/index.js"));
    const client: Client = new SdkClient({ name: "verl", version: VERSION });
    try {
      await client.connect(await this.transport(), { timeout: this.timeout * 1000 });
    } catch (cause) {
      await client.close().catch(() => undefined);
      throw new VerlError(
        "VERL_AGENT_TOOL",
        `The MCP server "${this.name}" cannot be reached: ${(cause as Error).message}.`,
        {
          hint: "Start it by hand to see what it says, and check its entry in mcp.mcp_servers_config_path.",
          cause,
        },
      );
    }
    const opened = this.client!;
    client.onclose = () => this.forget(opened);
    return client;
  }

  private async transport() {
    if ("url" in this.server) {
      const { url, headers } = this.server;
      const { StreamableHTTPClientTransport } = await sdk(
        () => import("@modelcontextprotocol/sdk/client/streamableHttp.js"),
      );
      const options = { requestInit: { headers }, fetch: fetchWithLargeIntegers };
      const transport = new StreamableHTTPClientTransport(new URL(url), options);
      markLargeIntegers(transport);
      return transport;
    }
    const { command, args, env, cwd } = this.server;
    const { getDefaultEnvironment, StdioClientTransport } = await sdk(
      () => import("@modelcontextprotocol/sdk/client/stdio.js"),
    );
    // Only what every program needs of the environment goes to the server, and what its entry gives it.
    const environment = { ...getDefaultEnvironment(), ...env };
    const transport = new StdioClientTransport({ command, args: [...args], env: environment, cwd, stderr: "ignore" });
    writeLargeIntegers(transport);
    return transport;
  }
}

async function sdk<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    throw new VerlError("VERL_AGENT_TOOL", "The tool `mcp` needs the package @modelcontextprotocol/sdk.", {
      hint: "npm install @modelcontextprotocol/sdk",
      cause,
    });
  }
}

interface Part {
  type: string;
  text?: string;
  mimeType?: string;
  uri?: string;
  resource?: { uri: string; text?: string; mimeType?: string };
}

/** The text of the parts, those of embedded resources included; others are named in their place. */
function textOf({ content, structuredContent }: Record<string, unknown>): string {
  const parts = Array.isArray(content) ? (content as Part[]) : [];
  if (parts.length === 0 && structuredContent !== undefined) return JSON.stringify(structuredContent);
  return parts.map(({ resource, ...part }) => part.text ?? resource?.text ?? nameOf(resource ?? part)).join("\n");
}

/** `[file:///a.png (image/png)]`, or as much of that as is known. */
function nameOf({ uri, mimeType, type }: Partial<Part>): string {
  if (uri === undefined) return `[${mimeType ?? type}]`;
  return mimeType === undefined ? `[${uri}]` : `[${uri} (${mimeType})]`;
}
