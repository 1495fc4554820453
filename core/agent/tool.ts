import type { JSONSchema7 } from "json-schema";
import type { ClassEntry } from "../registry/entry.ts";
import { classRegistrar, type ClassRegistrar } from "../registry/register.ts";

/** A tool as the chat template sees it, in OpenAI's form. */
export interface ToolSchema {
  type: "function";
  function: { name: string; description?: string; parameters: JSONSchema7; strict?: boolean };
}

export interface ToolContext {
  /** Aborts at the tool's deadline and when the sample ends. */
  signal: AbortSignal;
  /** The dataset row that is being answered. */
  row: Readonly<Record<string, unknown>>;
  metric(name: string, value: number): void;
}

export interface ToolResult {
  /** What the model is told: text, or parts of a structured message. */
  content: string | readonly Record<string, unknown>[];
  /** Reward of this call, where the tool gives one: finite, or the sample fails. */
  reward?: number;
}

/**
 * Something that the model may call. One object serves all samples; what belongs to one sample lives under the id that `create` gave.
 *
 *     @Tool.register("calculator", { description: "…" })
 *     class Calculator extends Tool { … }
 */
export abstract class Tool {
  static readonly register: ClassRegistrar<"tool"> = classRegistrar("tool");

  abstract readonly schema: ToolSchema;

  /**
   * Opens an instance for one sample, before its first call of the tool; a sample that is tried again opens another one.
   * @param _kwargs The row's `tools_kwargs[name].create_kwargs`.
   * @returns An id for the other methods. Default: a random one, and nothing to open.
   */
  create(_kwargs: Readonly<Record<string, unknown>>, _ctx: ToolContext): Promise<string> {
    return Promise.resolve(globalThis.crypto.randomUUID());
  }

  /**
   * Runs one call. A throw is told to the model as a tool message, and so is a result of another form; from JavaScript, text alone
   * stands for a result without reward.
   */
  abstract execute(instance: string, args: Readonly<Record<string, unknown>>, ctx: ToolContext): Promise<ToolResult>;

  /** Reward of everything that the instance did: finite, or the sample fails; undefined where the tool gives none. Default: none. */
  calcReward(_instance: string): Promise<number | undefined> {
    return Promise.resolve(undefined);
  }

  /** Closes the instance; called whatever happened, `calcReward` included. Default: nothing. */
  release(_instance: string): Promise<void> {
    return Promise.resolve();
  }
}

/** Tools that are known only once a server is asked, as with MCP. Registered under the kind `tool` as well. */
export abstract class ToolServer {
  static readonly register: ClassRegistrar<"tool"> = classRegistrar("tool");

  /** Connects; called once a run, before its first sample. */
  abstract open(): Promise<readonly Tool[]>;

  /** Disconnects; called at the run's end, whatever ended it, also while `open` waits, which ends then. It has 8 s. */
  abstract close(): Promise<void>;
}

/** A tool's entry in the tools file. */
export interface ToolEntry {
  readonly class_name: string;
  /** Names and describes the tool in place of its own schema. */
  readonly tool_schema?: ToolSchema;
}

/** Token of the `ToolEntry` of the tool that is being constructed. */
export const TOOL_ENTRY: unique symbol = Symbol.for("verl.token.TOOL_ENTRY");

declare module "../registry/entry.ts" {
  interface EntryOf {
    tool: ClassEntry<Tool | ToolServer>;
  }
}
