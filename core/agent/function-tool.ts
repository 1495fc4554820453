import type { JSONSchema7 } from "json-schema";
import type { Injectable } from "../registry/entry.ts";
import { Tool, type ToolContext, type ToolResult, type ToolSchema } from "./tool.ts";

/** The arguments that a parameters schema describes, as far as plain JSON Schema tells: types, enums, lists, objects. */
export type ArgumentsOf<S> = S extends { readonly enum: readonly (infer V)[] }
  ? V
  : S extends { readonly type: "object"; readonly properties: infer P }
    ? { [K in keyof P as K extends RequiredOf<S> ? K : never]: ArgumentsOf<P[K]> } & {
        [K in keyof P as K extends RequiredOf<S> ? never : K]?: ArgumentsOf<P[K]>;
      }
    : S extends { readonly type: "array"; readonly items: infer I }
      ? ArgumentsOf<I>[]
      : S extends { readonly type: infer T extends keyof ValueOfType }
        ? ValueOfType[T]
        : unknown;

/** Integers beyond 2^53 come as bigint. */
interface ValueOfType {
  string: string;
  number: number | bigint;
  integer: number | bigint;
  boolean: boolean;
  null: null;
  array: unknown[];
  object: Record<string, unknown>;
}

type RequiredOf<S> = S extends { readonly required: readonly (infer K)[] } ? K : never;

export interface FunctionToolOptions<S> {
  name: string;
  description: string;
  /** JSON Schema of the arguments, an object. */
  parameters: S;
  /** Runs one call; text alone stands for a result without reward. */
  execute: (args: ArgumentsOf<S>, ctx: ToolContext) => string | ToolResult | Promise<string | ToolResult>;
}

/**
 * A tool of one function, whose arguments are typed by the schema:
 *
 *     provide("tool", "dice", { description: "…", create: functionTool({
 *       name: "dice", description: "Rolls a die.",
 *       parameters: { type: "object", properties: { sides: { type: "integer" } }, required: ["sides"] },
 *       execute: ({ sides }) => String(roll(sides)),
 *     }) })
 */
export function functionTool<const S extends JSONSchema7 | Readonly<Record<string, unknown>>>({
  name,
  description,
  parameters,
  execute,
}: FunctionToolOptions<S>): Injectable<Tool> {
  const schema: ToolSchema = {
    type: "function",
    function: { name, description, parameters: parameters },
  };
  return class extends Tool {
    override readonly schema = schema;

    override async execute(
      _instance: string,
      args: Readonly<Record<string, unknown>>,
      ctx: ToolContext,
    ): Promise<ToolResult> {
      const result = await execute(args as ArgumentsOf<S>, ctx);
      return typeof result === "string" ? { content: result } : result;
    }
  };
}
