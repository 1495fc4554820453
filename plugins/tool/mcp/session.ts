import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { jsonSchemaValidator } from "@modelcontextprotocol/sdk/validation";
import { compileParameters, VERSION, VerlError } from "verl";
import { endingWithThis } from "./ending-with-this.ts";
import { markLargeIntegers, writeLargeIntegers } from "./large-integers.ts";
import { MessageLines } from "./message-lines.ts";
import { readableFetch } from "./readable-fetch.ts";
import type { McpServer } from "./servers-file.ts";

/** Statuses of servers that do not know a session: the protocol says 404, some say 400. What was asked has not been begun. */
const UNKNOWN_SESSION = new Set([404, 400]);

/** Checks structured results as arguments are checked: the package's own way lets a server's pattern stall the process. */
const RESULTS: jsonSchemaValidator = {
  getValidator<T>(schema: object) {
    const validate = compileParameters(schema);
    return (input: unknown) =>
      validate(input)
        ? { valid: true, data: input as T, errorMessage: undefined }
        : { valid: false, data: undefined, errorMessage: validate.errors![0]!.message ?? "is not valid" };
  },
};

/** One session with a server. One that is left goes on until its last call has ended. */
export class McpSession {
  private calls = 0;
  private left = false;

  private constructor(
    readonly client: Client,
    private readonly transport: Transport,
  ) {}

  /**
   * @param timeout Seconds that it may take. @param signal gives it up; the server is ended then
   * @throws what says that the server cannot be reached
   */
  static async open(server: McpServer, timeout: number, signal: AbortSignal): Promise<McpSession> {
    signal.throwIfAborted();
    const { Client: SdkClient } = await sdk(() => import("@modelcontextprotocol/sdk/client/index.js"));
    const options = { jsonSchemaValidator: RESULTS };
    const client: Client = new SdkClient({ name: "verl", version: VERSION }, options);
    try {
      const transport = await transportTo(server);
      await client.connect(transport, { timeout: timeout * 1000, signal });
      return new McpSession(client, transport);
    } catch (cause) {
      await client.close().catch(() => undefined);
      throw cause;
    }
  }

  /** Makes a call by the session's client. */
  async call<T>(work: (client: Client) => Promise<T>): Promise<T> {
    this.calls += 1;
    try {
      return await work(this.client);
    } finally {
      this.calls -= 1;
      this.closeWhenLeft();
    }
  }

  /** Whether a call has failed because the server does not know the session: it has begun none, and a new session can make it. */
  isUnknown(error: unknown): boolean {
    const { code } = error as { code?: unknown };
    return this.transport.sessionId !== undefined && UNKNOWN_SESSION.has(code as number);
  }

  /** Closes it when the calls that are under way have ended. */
  leave(): void {
    this.left = true;
    this.closeWhenLeft();
  }

  private closeWhenLeft(): void {
    if (this.left && this.calls === 0) this.client.close().catch(() => undefined);
  }
}

async function transportTo(server: McpServer): Promise<Transport> {
  if ("url" in server) {
    const { url, headers } = server;
    const { StreamableHTTPClientTransport } = await sdk(
      () => import("@modelcontextprotocol/sdk/client/streamableHttp.js"),
    );
    const transport = new StreamableHTTPClientTransport(new URL(url), {
      requestInit: { headers },
      fetch: readableFetch,
    });
    markLargeIntegers(transport);
    return transport;
  }
  const { command, args, env, cwd } = server;
  const stdio = await sdk(() => import("@modelcontextprotocol/sdk/client/stdio.js"));
  // Only what every program needs of the environment goes to the server, and what its entry gives it.
  const environment = { ...stdio.getDefaultEnvironment(), ...env };
  const ServerProcess = endingWithThis(stdio.StdioClientTransport);
  const transport = new ServerProcess({ command, args: [...args], env: environment, cwd, stderr: "ignore" });
  writeLargeIntegers(transport);
  (transport as unknown as { _readBuffer: MessageLines })._readBuffer = new MessageLines();
  return transport;
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
