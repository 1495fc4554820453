import OpenAI from "openai";
import type { AgentEndpoint, AgentTask } from "verl";

const calc: OpenAI.ChatCompletionFunctionTool = {
  type: "function",
  function: {
    name: "calc",
    description: "Evaluates an expression.",
    parameters: {
      type: "object",
      properties: { e: { type: "string", description: "The expression." } },
      required: ["e"],
    },
  },
};
const MAX_TURNS = 3;

/** Answers a sum: an agent as one writes it for any model that OpenAI's API serves. Nothing in it knows of training. */
export async function run({ messages: asked }: AgentTask, { baseURL, apiKey, model, signal }: AgentEndpoint) {
  const client = new OpenAI({ baseURL, apiKey });
  const messages = [...asked] as OpenAI.ChatCompletionMessageParam[];
  for (let turn = 1; ; turn++) {
    const { choices } = await client.chat.completions.create({ model, messages, tools: [calc] }, { signal });
    const { message, finish_reason } = choices[0]!;
    messages.push(message);
    if (finish_reason !== "tool_calls" || turn === MAX_TURNS) return { turns: turn };
    for (const call of message.tool_calls ?? []) {
      messages.push({ role: "tool", tool_call_id: call.id, content: answer(call) });
    }
  }
}

function answer(call: OpenAI.ChatCompletionMessageToolCall): string {
  if (call.type !== "function" || call.function.name !== "calc") return "There is no such tool.";
  const { e } = JSON.parse(call.function.arguments) as { e?: unknown };
  const [, a, b] = /^(\d{1,3})\+(\d{1,3})$/.exec(String(e)) ?? [];
  return a === undefined || b === undefined ? "This is no sum." : String(Number(a) + Number(b));
}
