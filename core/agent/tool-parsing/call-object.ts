import type { FoundCall } from "./answer-writer.ts";
import { readLiteral } from "./literal.ts";
import { parseJson } from "./parse-json.ts";

type Fields = Record<string, unknown>;

export type Arguments = { arguments: Fields; repaired: boolean } | { reason: string };

/** A call as JSON writes it, or why it is none, and of which tool, where that is known. */
export type CallObject = FoundCall | { reason: string; tool?: string };

export const NOT_AN_OBJECT = "arguments must be an object";
/** Reason of a tool's definition that stands where a call should: prompts list them, and models repeat them. */
export const DEFINITION = "the definition of a tool is no call";

export const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Arguments from what stands for them: an object, nothing at all (no arguments), or text that is an object once decoded. */
export function readArguments(value: unknown): Arguments {
  if (value === undefined || value === null) return { arguments: {}, repaired: false };
  if (typeof value === "string") return readArgumentsText(value);
  return isObject(value) ? { arguments: value, repaired: false } : { reason: NOT_AN_OBJECT };
}

/** What `null`, or an object in a JSON string, stands for; undefined for any other text. */
export function readBareArguments(text: string): unknown {
  if (text === "null" || text === "None") return null;
  return text.startsWith('"') ? parseJson(text) : undefined;
}

function readArgumentsText(text: string): Arguments {
  if (text.trim() === "") return { arguments: {}, repaired: false };
  const value = parseJson(text);
  if (isObject(value)) return { arguments: value, repaired: false };
  if (value !== undefined) return { reason: NOT_AN_OBJECT };
  const read = readLiteral(text);
  if (!read.ok || text.slice(read.end).trim() !== "" || !isObject(read.value)) return { reason: NOT_AN_OBJECT };
  return { arguments: read.value, repaired: true };
}

/** True for objects that can only be meant as calls: a name with arguments, whatever each is called. */
export const looksLikeCall = (value: unknown): boolean =>
  isNamed(value) && ("arguments" in value || "parameters" in value || isObject(value.function)) && !isDefinition(value);

const isNamed = (value: unknown): value is Fields =>
  isObject(value) && (typeof value.name === "string" || value.function !== undefined);

/** True for what OpenAI and others list tools as: where calls have arguments it has a schema, beside a text for the model. */
function isDefinition(value: Fields): boolean {
  const inner = isObject(value.function) ? value.function : value;
  const { parameters: schema } = inner;
  if ("arguments" in inner || !isObject(schema) || schema.type !== "object" || !isObject(schema.properties))
    return false;
  return inner !== value || typeof value.description === "string";
}

/** Keys of an assistant's message that hold its calls. */
const MESSAGE_KEYS = ["tool_calls", "tool_call", "function_calls", "function_call"];

/** The calls of a message, the key that holds them, and what it says. */
export interface CallMessage {
  calls: readonly unknown[];
  key: string;
  content: string;
  /** The calls stand before what is said. */
  callsFirst: boolean;
}

/**
 * An assistant's message as OpenAI's API has it, or the part of one that holds its calls: models are trained on those.
 * @returns Undefined for any other value, which may be a call itself.
 */
export function messageOf(value: unknown): CallMessage | undefined {
  if (!isObject(value) || looksLikeCall(value)) return undefined;
  for (const key of MESSAGE_KEYS) {
    const calls = Array.isArray(value[key]) ? (value[key] as unknown[]) : [value[key]];
    if (calls.length === 0 || !calls.every(isNamed)) continue;
    const keys = Object.keys(value);
    const content = typeof value.content === "string" ? value.content : "";
    return { calls, key, content, callsFirst: keys.indexOf(key) < keys.indexOf("content") };
  }
  return undefined;
}

/** What stands in a call beside its arguments, in one format or another. */
const CALL_KEYS = new Set(["name", "function", "arguments", "parameters", "id", "type", "index"]);
/** Letters of a key in a message. */
const MAX_TOLD = 64;

/**
 * Reads `{ name, arguments }`. `parameters` is another word for arguments (Llama), `{ function: … }` another place for both
 * (OpenAI), `{ function: "name" }` another word for the name. Arguments that stand elsewhere are not taken for none.
 */
export function readCallObject(value: unknown): CallObject {
  if (!isObject(value)) return { reason: "a call must be an object with name and arguments" };
  if (isDefinition(value)) return { reason: DEFINITION };
  const inner = isObject(value.function) ? value.function : value;
  const name = inner.name ?? (typeof value.function === "string" ? value.function : undefined);
  if (typeof name !== "string" || name.trim() === "") return { reason: "the call has no name" };
  const given = inner.arguments ?? inner.parameters;
  const stray = given === undefined ? Object.keys(inner).find((key) => !CALL_KEYS.has(key)) : undefined;
  if (stray !== undefined)
    return { reason: `the call has no arguments, but "${stray.slice(0, MAX_TOLD)}"`, tool: name };
  const read = readArguments(given);
  if ("reason" in read) return read;
  const call: FoundCall = { name: name.trim(), arguments: read.arguments };
  if (typeof value.id === "string") call.id = value.id;
  if (read.repaired) call.repaired = true;
  return call;
}
