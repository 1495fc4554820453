import { isTransient, VerlError, withRetries, type RetryPause } from "verl";
import { dataText } from "./large-integers.ts";
import type { McpServer } from "./servers-file.ts";
import { McpSession } from "./session.ts";

/** A tool as its server lists it. */
export interface ListedTool {
  name: string;
  description?: string;
  inputSchema: Record<string, unknown>;
}

/** Lists are paged; no honest server has more. */
const MOST_PAGES = 100;

/** Once again, at once: `fetch` may have taken a connection that the server was just closing. */
const onceMore: RetryPause = (error, attempt) => (attempt === 1 && isTransient(error) ? 0 : undefined);

/** The connection to one MCP server. One that broke, or whose session the server has forgotten, is opened anew by the next call. */
export class McpConnection {
  private session: Promise<McpSession> | undefined;
  private readonly ending = new AbortController();

  constructor(
    readonly name: string,
    private readonly server: McpServer,
    /** Seconds that connecting may take. */
    private readonly timeout: number,
  ) {}

  async list(): Promise<ListedTool[]> {
    const { client } = await this.connected();
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
    // The deadline is the signal's.
    const options = { signal, timeout: 2 ** 31 - 1 };
    const result = await this.inSession((session) =>
      session.call((client) => client.callTool({ name, arguments: { ...args } }, undefined, options)),
    );
    const text = textOf(result);
    if (result.isError === true) throw new Error(text);
    return text;
  }

  async close(): Promise<void> {
    this.ending.abort(new Error("it is closed"));
    const session = await this.session?.catch(() => undefined);
    await session?.client.close();
  }

  /** Works in the session that there is; where the server does not know it any more, once again in a new one. */
  private async inSession<T>(work: (session: McpSession) => Promise<T>): Promise<T> {
    const opened = this.connected();
    const session = await opened;
    try {
      return await work(session);
    } catch (error) {
      if (!session.isUnknown(error)) throw error;
      // Of calls that fail together, the first one opens the session that all go on with.
      if (this.session === opened) {
        this.session = undefined;
        session.leave();
      }
      return work(await this.connected());
    }
  }

  private connected(): Promise<McpSession> {
    if (this.ending.signal.aborted) throw new Error(`the MCP server "${this.name}" is closed`);
    if (this.session !== undefined) return this.session;
    const opening = this.open();
    this.session = opening;
    const forget = (): void => {
      if (this.session === opening) this.session = undefined;
    };
    opening.then(({ client }) => void (client.onclose = forget), forget);
    return opening;
  }

  private async open(): Promise<McpSession> {
    try {
      return await withRetries(() => McpSession.open(this.server, this.timeout, this.ending.signal), {
        pause: onceMore,
      });
    } catch (cause) {
      if (cause instanceof VerlError) throw cause;
      throw new VerlError(
        "VERL_AGENT_TOOL",
        `The MCP server "${this.name}" cannot be reached: ${(cause as Error).message}.`,
        {
          hint: "Start it by hand to see what it says, and check its entry in mcp.mcp_servers_config_path.",
          cause,
        },
      );
    }
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
function textOf(result: Record<string, unknown>): string {
  const parts = Array.isArray(result.content) ? (result.content as Part[]) : [];
  if (parts.length === 0) return dataText(result) ?? "";
  return parts.map(({ resource, ...part }) => part.text ?? resource?.text ?? nameOf(resource ?? part)).join("\n");
}

/** `[file:///a.png (image/png)]`, or as much of that as is known. */
function nameOf({ uri, mimeType, type }: Partial<Part>): string {
  if (uri === undefined) return `[${mimeType ?? type}]`;
  return mimeType === undefined ? `[${uri}]` : `[${uri} (${mimeType})]`;
}
