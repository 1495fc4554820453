import { functionTool } from "../../../core/agent/function-tool.ts";
import { Tool, type ToolContext, type ToolResult, type ToolSchema } from "../../../core/agent/tool.ts";
import { provide } from "../../../core/registry/index.ts";

const schemaOf = (name: string): ToolSchema => ({
  type: "function",
  function: { name, description: name, parameters: { type: "object", properties: {} } },
});

/** What was done with `Recorded` tools, in order. */
export const events: string[] = [];

/** Notes what is done with it. */
class Recorded extends Tool {
  readonly schema = schemaOf("recorded");
  private opened = 0;

  override create(kwargs: Readonly<Record<string, unknown>>): Promise<string> {
    const instance = `${(kwargs.who as string | undefined) ?? "i"}${this.opened++}`;
    events.push(`create ${instance}`);
    return Promise.resolve(instance);
  }

  async execute(instance: string, args: Readonly<Record<string, unknown>>): Promise<ToolResult> {
    events.push(`execute ${instance} ${JSON.stringify(args)}`);
    // Others begin meanwhile. No timer can come between, be a test's deadline as short as it likes.
    await Promise.resolve();
    events.push(`done ${instance}`);
    if (args.fail === true) throw new Error("no luck");
    return { content: "ok", reward: 0.25 };
  }

  override calcReward(instance: string): Promise<number> {
    events.push(`reward ${instance}`);
    return Promise.resolve(0.75);
  }

  override release(instance: string): Promise<void> {
    events.push(`release ${instance}`);
    return Promise.resolve();
  }
}

/** Hangs until it is told to stop, or for ever. */
class Hanging extends Tool {
  readonly schema = schemaOf("hang");
  static stopped = 0;

  execute(
    _instance: string,
    { deaf }: Readonly<Record<string, unknown>>,
    { signal }: ToolContext,
  ): Promise<ToolResult> {
    return new Promise((_, reject) => {
      if (deaf !== true) signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
    });
  }
}

export const testTools = [
  provide("tool", "test-recorded", { description: "Records.", create: Recorded }),
  provide("tool", "test-hang", { description: "Hangs.", create: Hanging }),
  provide("tool", "test-add", {
    description: "Adds.",
    create: functionTool({
      name: "add",
      description: "Adds two numbers.",
      parameters: {
        type: "object",
        properties: { a: { type: "number" }, b: { type: "number" } },
        required: ["a", "b"],
      },
      execute: ({ a, b }) => String(Number(a) + Number(b)),
    }),
  }),
  provide("tool", "test-ping", {
    description: "Answers.",
    create: functionTool({
      name: "ping",
      description: "Answers pong.",
      parameters: { type: "object", properties: {} },
      execute: () => "pong",
    }),
  }),
  provide("tool", "test-large", {
    description: "Answers ten megabytes.",
    create: functionTool({
      name: "large",
      description: "Much.",
      parameters: { type: "object", properties: {} },
      execute: () => "x".repeat(10_000_000),
    }),
  }),
  provide("tool", "test-parts", {
    description: "Answers parts.",
    create: functionTool({
      name: "parts",
      description: "Parts.",
      parameters: { type: "object", properties: {} },
      execute: () => ({ content: [{ type: "text", text: "0123456789" }], reward: 1 }),
    }),
  }),
];

/** A tools file of these classes. */
export const toolsFile = (...keys: string[]): string =>
  `tools:\n${keys.map((key) => `  - class_name: test-${key}\n`).join("")}`;
