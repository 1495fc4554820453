import { setImmediate } from "node:timers/promises";
import { Tool, type ToolContext, type ToolResult, type ToolSchema } from "../../core/agent/index.ts";
import { testTool } from "../../core/testing/index.ts";
import { faultsOfData, testFaults } from "./faults.ts";

const schemaOf = (
  parameters: Partial<ToolSchema["function"]["parameters"]> = {},
  own: Partial<ToolSchema["function"]> = {},
): ToolSchema => ({
  type: "function",
  function: {
    name: "upper",
    parameters: {
      type: "object",
      properties: { text: { type: "string", description: "What to write in capitals." } },
      ...parameters,
    },
    ...own,
  },
});

type Table = Readonly<Record<string, unknown>>;

/** Writes in capitals, after what a sample's row asks for; what a test wants otherwise is overridden. */
class Honest extends Tool {
  readonly schema: ToolSchema = schemaOf();
  protected readonly starts = new Map<string, string>();

  override create({ start = "" }: Table, _ctx: ToolContext): Promise<string> {
    const instance = globalThis.crypto.randomUUID();
    this.starts.set(instance, String(start));
    return Promise.resolve(instance);
  }

  async execute(instance: string, { text }: Table): Promise<ToolResult> {
    if (typeof text !== "string") throw new Error("text must be a string");
    await setImmediate();
    return { content: this.starts.get(instance)! + text.toUpperCase() };
  }

  override release(instance: string): Promise<void> {
    if (!this.starts.delete(instance)) return Promise.reject(new Error("there is no such instance"));
    return Promise.resolve();
  }
}

class NoFunction extends Honest {
  override readonly schema = { ...schemaOf(), type: "tool" } as unknown as ToolSchema; // as plain JavaScript may have it
}
class OddName extends Honest {
  override readonly schema = schemaOf({}, { name: "to upper" });
}
class NoObject extends Honest {
  override readonly schema = schemaOf({ type: "string" });
}
class NoSchema extends Honest {
  override readonly schema = schemaOf({ properties: { text: { type: "text" as "string", description: "Text." } } });
}
class Bare extends Honest {
  override readonly schema = schemaOf({ properties: { text: { type: "string" } } });
}
class RequiresAnother extends Honest {
  override readonly schema = schemaOf({ required: ["texts"] });
}
class NoWords extends Honest {
  override execute(): Promise<ToolResult> {
    return Promise.reject(new Error(""));
  }
}
class Hangs extends Honest {
  override execute(instance: string, args: Table): Promise<ToolResult> {
    return args["text"] === null ? new Promise(() => undefined) : super.execute(instance, args);
  }
}
class NoContent extends Honest {
  override execute(_instance: string, { text }: Table): Promise<ToolResult> {
    return Promise.resolve({ content: text as string });
  }
}
class RewardsNaN extends Honest {
  override execute(_instance: string, { text }: Table): Promise<ToolResult> {
    return Promise.resolve({ content: "", reward: Number(text) });
  }
}
class Shares extends Honest {
  private start = "";
  override create(kwargs: Table, ctx: ToolContext): Promise<string> {
    this.start = (kwargs["start"] ?? "") as string;
    return super.create(kwargs, ctx);
  }
  override async execute(instance: string, args: Table): Promise<ToolResult> {
    await super.execute(instance, args);
    return { content: this.start + String(args["text"]) };
  }
}
class SumsNaN extends Honest {
  override calcReward(): Promise<number> {
    return Promise.resolve(0 / 0);
  }
}
class ReleasesTheUsed extends Honest {
  private readonly used = new Set<string>();
  override execute(instance: string, args: Table): Promise<ToolResult> {
    this.used.add(instance);
    return super.execute(instance, args);
  }
  override release(instance: string): Promise<void> {
    if (!this.used.has(instance)) return Promise.reject(new Error("it was never used"));
    return super.release(instance);
  }
}

const entry = (create: new () => Tool) => ({ description: "Writes in capitals.", create });
const SCHEMA = "its schema is that of a function";
const ANSWERED = "any arguments are answered or refused in words";

testFaults("tool", {
  suite: testTool,
  honest: entry(Honest),
  cases: [
    { name: "a word", input: { arguments: { text: "ab" } }, expected: { content: "AB" } },
    {
      name: "after another",
      input: { arguments: { text: "ab" }, create_kwargs: { start: "-" } },
      expected: { content: "-AB" },
    },
  ],
  wrongCases: [
    ['content is "A", not "a"', { name: "small", input: { arguments: { text: "a" } }, expected: { content: "a" } }],
    [
      "where a refusal is expected",
      { name: "refused", input: { arguments: { text: "a" } }, expected: { error: "text" } },
    ],
    [
      'it refuses with "text must be a string"',
      { name: "other words", input: { arguments: {} }, expected: { error: "no words" } },
    ],
    ["text must be a string", { name: "answered", input: { arguments: {} }, expected: { content: "" } }],
  ],
  faults: [
    ...faultsOfData(entry(Honest)),
    { property: SCHEMA, words: '`schema.type` is "tool", not "function"', entry: entry(NoFunction) },
    { property: SCHEMA, words: '`schema.function.name` is "to upper"', entry: entry(OddName) },
    { property: SCHEMA, words: '`schema.function.parameters.type` is not "object"', entry: entry(NoObject) },
    { property: SCHEMA, words: "type must be", entry: entry(NoSchema) },
    { property: SCHEMA, words: "the parameter `text` has no description", entry: entry(Bare) },
    { property: SCHEMA, words: "`required` names `texts`, which is no parameter", entry: entry(RequiresAnother) },
    { property: ANSWERED, words: "it throws", entry: entry(NoWords) },
    { property: ANSWERED, words: "it hangs", entry: entry(Hangs) },
    { property: ANSWERED, words: "`content` is", entry: entry(NoContent) },
    { property: ANSWERED, words: "`reward` is NaN", entry: entry(RewardsNaN) },
    { property: "samples do not know of each other", words: "beside another call it says", entry: entry(Shares) },
    { property: "the reward of a sample is a finite number or none", words: "it is NaN", entry: entry(SumsNaN) },
    {
      property: "an instance that was never called can be released",
      words: "it was never used",
      entry: entry(ReleasesTheUsed),
    },
  ],
});
