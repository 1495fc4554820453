import { Tool, type ToolResult, type ToolSchema } from "verl";

/** Bounded, so that a hostile expression takes no time: up to 20 terms of up to 15 digits. */
const SUM = /^\s*-?\d{1,15}(?:\s*[+-]\s*\d{1,15}){0,19}\s*$/;
const TERM = /[+-]?\s*\d+/g;

/** Sums of whole numbers. The expression comes from a model: it is read, never run as code. */
export class SumTool extends Tool {
  readonly schema: ToolSchema = {
    type: "function",
    function: {
      name: "calc",
      description: "Adds and subtracts whole numbers.",
      parameters: {
        type: "object",
        properties: { e: { type: "string", description: "The expression, for example 12 + 30 - 2." } },
        required: ["e"],
      },
    },
  };

  execute(_instance: string, { e }: Readonly<Record<string, unknown>>): Promise<ToolResult> {
    // What is thrown is told to the model, as the result of its call.
    if (typeof e !== "string" || !SUM.test(e)) return Promise.reject(new Error("e must be a sum such as 12 + 30 - 2"));
    const terms = e.match(TERM) ?? [];
    const sum = terms.reduce((total, term) => total + BigInt(term.replace(/\s+/g, "")), 0n);
    return Promise.resolve({ content: String(sum) });
  }
}
