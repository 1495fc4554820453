import { parametersFault } from "../../config/tool-parameters.ts";
import type { ChatMessage } from "../../data/tokenizer.ts";
import type { ToolSchema } from "../tool.ts";
import { parseJson } from "../tool-parsing/parse-json.ts";
import { ruleOf } from "./field-table.ts";
import { readGenerationRequest, type GenerationRequest } from "./generation-request.ts";
import { readTemplateVariables, type NotedField } from "./read-fields.ts";
import { flagField, invalid, isFields, type Fields } from "./request-fields.ts";

export interface ChatRequest extends GenerationRequest {
  /** As chat templates read them: contents are text, arguments of calls are objects. */
  messages: ChatMessage[];
  tools: readonly ToolSchema[];
  /** Further variables of the chat template. */
  variables: Fields;
  /** False: no calls are read out of the answer. */
  readsCalls: boolean;
  /** Calls that the client gets of one answer, at most. */
  mostCalls: number;
}

export interface CompletionRequest extends GenerationRequest {
  /** Text, or token ids. */
  prompt: string | Int32Array;
  /** The answer's text begins with the prompt. */
  echo: boolean;
}

const MAX_MESSAGES = 10_000;
const MAX_TOOLS = 512;
const CHOICES: ReadonlySet<unknown> = new Set([null, "auto", "none", "required"]);
const STRICT_FIELD = "tools[].function.strict";
const STRICT: NotedField = { field: STRICT_FIELD, treatment: "form", about: ruleOf("chat", STRICT_FIELD)!.about };
const ROLES: ReadonlyMap<unknown, string> = new Map([
  ["system", "system"],
  ["developer", "system"],
  ["user", "user"],
  ["assistant", "assistant"],
  ["tool", "tool"],
]);

/** Reads a body of `/v1/chat/completions`. @throws ApiError */
export function readChatRequest(body: Fields): ChatRequest {
  const { messages, tool_choice: choice = "auto" } = body;
  if (!Array.isArray(messages) || messages.length === 0 || messages.length > MAX_MESSAGES) {
    throw invalid("messages", `it must be a list of 1 to ${MAX_MESSAGES} messages`);
  }
  const tools = readTools(body["tools"]);
  if (!CHOICES.has(choice) && !(isFields(choice) && typeof choice["type"] === "string")) {
    throw invalid("tool_choice", "it must be auto, none, required, or an object with a type");
  }
  const request = readGenerationRequest(body, "chat");
  return {
    ...request,
    noted: tools.some(isStrict) ? [...request.noted, STRICT] : request.noted,
    messages: messages.map(readMessage),
    tools,
    variables: readTemplateVariables(body),
    readsCalls: tools.length > 0 && choice !== "none",
    mostCalls: flagField(body, "parallel_tool_calls", true) ? Infinity : 1,
  };
}

/** Reads a body of `/v1/completions`. @throws ApiError */
export function readCompletionRequest(body: Fields): CompletionRequest {
  const { prompt: given } = body;
  // A list of one prompt is that prompt; ids stand in a list of their own.
  const prompt: unknown = Array.isArray(given) && given.length === 1 && !Number.isInteger(given[0]) ? given[0] : given;
  const echo = flagField(body, "echo");
  const request = { ...readGenerationRequest(body, "completions"), echo };
  if (echo && request.logprobs)
    throw invalid("echo", "with logprobs it would need those of the prompt, which engines do not tell");
  if (typeof prompt === "string" && prompt !== "") return { ...request, prompt };
  const ids =
    Array.isArray(prompt) && prompt.length > 0 && prompt.every((id) => Number.isInteger(id) && id >= 0 && id < 2 ** 31);
  if (!ids)
    throw invalid("prompt", "it must be one text, or one list of token ids; several prompts are several requests");
  return { ...request, prompt: Int32Array.from(prompt as number[]) };
}

function readMessage(message: unknown, index: number): ChatMessage {
  const at = (field: string): string => `messages[${index}].${field}`;
  if (!isFields(message)) throw invalid(`messages[${index}]`, "it must be an object");
  const role = ROLES.get(message["role"]);
  if (role === undefined) throw invalid(at("role"), `it must be one of ${[...ROLES.keys()].join(", ")}`);
  const { name, tool_call_id: callId, tool_calls: calls, reasoning_content: reasoning } = message;
  const read: ChatMessage = { role, content: readContent(message["content"] ?? message["refusal"], at("content")) };
  if (typeof name === "string") read["name"] = name;
  if (role === "tool") {
    if (typeof callId !== "string") throw invalid(at("tool_call_id"), "it must be the id of a call");
    read["tool_call_id"] = callId;
  }
  if (role === "assistant") {
    if (typeof reasoning === "string") read["reasoning_content"] = reasoning;
    if (Array.isArray(calls) && calls.length > 0)
      read["tool_calls"] = calls.map((call) => readCall(call, at("tool_calls")));
  }
  return read;
}

function readContent(content: unknown, at: string): string {
  if (content === undefined || content === null) return "";
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) throw invalid(at, "it must be text, or a list of parts");
  return content
    .map((part: unknown) => {
      const text = isFields(part) ? (part["text"] ?? part["refusal"]) : undefined;
      if (typeof text !== "string") throw invalid(at, "only parts of text are served");
      return text;
    })
    .join("");
}

function readCall(call: unknown, at: string): Fields {
  const { name, arguments: given = "{}" } = isFields(call) && isFields(call["function"]) ? call["function"] : {};
  if (!isFields(call) || typeof call["id"] !== "string" || typeof name !== "string" || typeof given !== "string") {
    throw invalid(at, "a call has an id, and a function with a name and arguments in a text");
  }
  return { id: call["id"], type: "function", function: { name, arguments: readArguments(given) } };
}

/** Templates take an object; a text that is none stays what it is, and so does one that is nested deeper than those of models are read. */
function readArguments(text: string): unknown {
  const value = parseJson(text === "" ? "{}" : text);
  return isFields(value) ? value : text;
}

const isStrict = (tool: ToolSchema): boolean => (tool.function as { strict?: unknown }).strict === true;

function readTools(tools: unknown): readonly ToolSchema[] {
  if (tools === undefined || tools === null) return [];
  if (!Array.isArray(tools) || tools.length > MAX_TOOLS)
    throw invalid("tools", `it must be a list of up to ${MAX_TOOLS} tools`);
  return tools.map((tool: unknown, index) => {
    const given =
      isFields(tool) && tool["type"] === "function" && isFields(tool["function"]) ? tool["function"] : undefined;
    if (given === undefined || typeof given["name"] !== "string") {
      throw invalid(`tools[${index}]`, "only functions with a name are served");
    }
    const parameters = given["parameters"] ?? { type: "object", properties: {} };
    const fault = isFields(parameters) ? parametersFault(parameters) : "It is no object.";
    if (fault !== undefined)
      throw invalid(`tools[${index}].function.parameters`, `it must be a JSON Schema (${fault})`);
    return { type: "function", function: { ...given, name: given["name"], parameters } };
  });
}
