import { inject, Tool, TOOL_ENTRY, type ToolEntry, type ToolResult, type ToolSchema } from "verl";
import { evaluate } from "./arithmetic.ts";
import { formatNumber } from "./exact-number.ts";

const SCHEMA: ToolSchema = {
  type: "function",
  function: {
    name: "calculator",
    description: "Evaluates an arithmetic expression.",
    parameters: {
      type: "object",
      properties: { expression: { type: "string", description: "For example (12 + 3) * 4 / 7." } },
      required: ["expression"],
    },
  },
};

/** Arithmetic, exact in integers, without any code being run. Name and argument are those of the tools file's schema, where it has one. */
export class Calculator extends Tool {
  readonly schema: ToolSchema;
  private readonly argument: string;

  constructor(@inject(TOOL_ENTRY) { tool_schema }: ToolEntry) {
    super();
    this.schema = tool_schema ?? SCHEMA;
    this.argument = Object.keys(this.schema.function.parameters.properties ?? {})[0] ?? "expression";
  }

  override create(): Promise<string> {
    // Nothing belongs to one sample.
    return Promise.resolve("");
  }

  execute(_instance: string, args: Readonly<Record<string, unknown>>): Promise<ToolResult> {
    const expression = String(args[this.argument]);
    return Promise.resolve({ content: formatNumber(evaluate(expression)) });
  }
}
