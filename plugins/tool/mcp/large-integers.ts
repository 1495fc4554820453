import { randomUUID } from "node:crypto";
import type { Writable } from "node:stream";
import type { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import type { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { parseLosslessJson, stringifyLosslessJson } from "verl";

// The client's transports write messages by JSON.stringify and read them by JSON.parse, which have no integers beyond 2^53. What holds
// none goes their own way.

/** Lets a transport over standard streams write large integers, to the input of its process. */
export function writeLargeIntegers(transport: StdioClientTransport): void {
  const send = transport.send.bind(transport);
  transport.send = async (message) => {
    const large = findLargeInteger(message);
    if (large === undefined) return send(message);
    const { stdin } = (transport as unknown as { _process?: { stdin?: Writable | null } })._process ?? {};
    if (stdin?.writable !== true) throw new Error(`the MCP server cannot be sent the integer ${large}`);
    const text = `${stringifyLosslessJson(message)}\n`;
    if (!stdin.write(text)) await new Promise((resolve) => stdin.once("drain", resolve));
  };
}

/** What stands for a large integer until the body of a request is written. */
const MARK = `integer-${randomUUID()}:`;
const MARKED = new RegExp(`"${MARK}(-?[0-9]+)"`, "g");

/** Lets a transport over HTTP write them, whose requests pass `unmarkedText`. */
export function markLargeIntegers(transport: StreamableHTTPClientTransport): void {
  const send = transport.send.bind(transport);
  transport.send = (message, options) =>
    send(findLargeInteger(message) === undefined ? message : (marked(message) as JSONRPCMessage), options);
}

/** A request as the server is to see it. */
export const unmarkedText = (text: string): string => (text.includes(MARK) ? text.replace(MARKED, "$1") : text);

/** Field of a result with its data as text, to the last digit, beside what the client makes of them and checks. */
const DATA_TEXT = `data-${randomUUID()}`;

/** Reads a message; a result whose data may have large integers keeps them as text, which `dataText` gives. @throws SyntaxError */
export function readMessage(text: string): unknown {
  const message: unknown = JSON.parse(text);
  const result = resultOf(message);
  if (result !== undefined && /\d{16}/.test(text)) {
    const { structuredContent } = resultOf(parseLosslessJson(text))!;
    result[DATA_TEXT] = stringifyLosslessJson(structuredContent);
  }
  return message;
}

/** The data of a result as text; undefined where it has none. */
export const dataText = (result: Readonly<Record<string, unknown>>): string | undefined =>
  (result[DATA_TEXT] as string | undefined) ?? JSON.stringify(result.structuredContent);

/** The result of a message, where it has data. */
function resultOf(message: unknown): Record<string, unknown> | undefined {
  const { result } = (message ?? {}) as { result?: Record<string, unknown> | null };
  return result?.structuredContent === undefined ? undefined : result;
}

function findLargeInteger(value: unknown): bigint | undefined {
  if (typeof value === "bigint") return value;
  if (typeof value !== "object" || value === null) return undefined;
  for (const item of Object.values(value)) {
    const found = findLargeInteger(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

function marked(value: unknown): unknown {
  if (typeof value === "bigint") return `${MARK}${value}`;
  if (Array.isArray(value)) return value.map(marked);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, marked(item)]));
}
