import { readFileSync } from "node:fs";
import { VerlError } from "verl";

/** How a server is reached: a program that speaks over its standard streams, or an address (streamable HTTP). */
export type McpServer =
  | {
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      readonly cwd?: string;
    }
  | { readonly url: string; readonly headers: Readonly<Record<string, string>> };

/**
 * Reads the usual JSON file of servers: `{ "mcpServers": { name: { command, args, env, cwd } | { url, headers, auth_token } } }`.
 * @throws VerlError VERL_AGENT_FILE
 */
export function readServersFile(path: string): [name: string, server: McpServer][] {
  const fault = (message: string, cause?: unknown): VerlError =>
    new VerlError("VERL_AGENT_FILE", `The file of MCP servers ${message}.`, {
      location: { file: path },
      hint: 'It is JSON: { "mcpServers": { "name": { "command": "…", "args": [] } or { "url": "https://…" } } }.',
      cause,
    });
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, "utf8"));
  } catch (cause) {
    throw fault(`cannot be read: ${(cause as Error).message}`, cause);
  }
  const servers = (value as { mcpServers?: unknown } | null)?.mcpServers;
  if (!isMap(servers)) throw fault("has no map `mcpServers`");
  return Object.entries(servers).map(([name, entry]) => {
    const server = isMap(entry) ? serverOf(entry) : undefined;
    if (server === undefined) throw fault(`names neither a command nor a url for "${name}"`);
    return [name, server];
  });
}

function serverOf({
  command,
  args,
  env,
  cwd,
  url,
  headers,
  auth_token,
}: Record<string, unknown>): McpServer | undefined {
  if (typeof command === "string") {
    const working = typeof cwd === "string" ? { cwd } : {};
    return { command, args: Array.isArray(args) ? args.map(String) : [], env: texts(env), ...working };
  }
  if (typeof url !== "string" || !/^https?:\/\//.test(url)) return undefined;
  const own = texts(headers);
  if (typeof auth_token === "string") own.authorization = `Bearer ${auth_token}`;
  return { url, headers: own };
}

const texts = (value: unknown): Record<string, string> =>
  isMap(value) ? Object.fromEntries(Object.entries(value).map(([name, text]) => [name, String(text)])) : {};

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
