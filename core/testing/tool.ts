import fc from "fast-check";
import { isDeepStrictEqual } from "node:util";
import { reasonOf } from "../errors/reason-of.ts";
import { TOOL_ENTRY, type Tool, type ToolContext, type ToolResult } from "../agent/index.ts";
import { compileParameters } from "../config/tool-parameters.ts";
import { registries, type TokenValues } from "../registry/index.ts";
import type { GoldenCase } from "./cases.ts";
import type { EntrySubject } from "./entry-properties.ts";
import { answers, forInputs, inTime, shown } from "./plain-property.ts";
import { Violation, type Property } from "./property.ts";
import { optionsOf } from "./subject.ts";
import { defineSuite, type Suite, type SuiteOptions, type TestedWith } from "./suite.ts";
import { testContainer } from "./test-container.ts";

type Table = Readonly<Record<string, unknown>>;

/** A golden case of a tool: one call in a fresh instance. `error` is a part of the message of a call that is refused. */
export type ToolCase = GoldenCase<
  { readonly arguments: Table; readonly create_kwargs?: Table; readonly row?: Table },
  { readonly content?: ToolResult["content"]; readonly reward?: number; readonly error?: string }
>;

export interface ToolSuiteOptions extends SuiteOptions<ToolCase> {
  /** Injected values of a tool that asks for more than every run has. */
  readonly values?: TokenValues;
}

interface ToolSubject extends EntrySubject {
  readonly tool: Tool;
  /** `create_kwargs` of the golden cases; generated calls go to instances that were made with one of them. */
  readonly kwargs: readonly Table[];
}

type Given = TestedWith & { readonly values?: TokenValues; readonly cases?: ToolSuiteOptions["cases"] };

const NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

const contextOf = (row: Table = {}): ToolContext => ({
  signal: new AbortController().signal,
  row,
  metric: () => undefined,
});

function toolOf(key: string, { options: given, values, cases }: Given): ToolSubject {
  const { entry, key: canonical } = registries.tool.find(key);
  const options = optionsOf("tool", key, given);
  const tool = testContainer({ [TOOL_ENTRY]: { class_name: key }, ...values }).create("tool", key, { options }) as Tool;
  const kwargs = typeof cases === "object" ? cases.map(({ input }) => input.create_kwargs ?? {}) : [{}];
  return { kind: "tool", key: canonical, entry, options, tool, kwargs };
}

/** One call in an instance of its own, which is released whatever happened. */
async function callOnce(tool: Tool, args: Table, kwargs: Table = {}, ctx = contextOf()): Promise<ToolResult> {
  const instance = await tool.create(kwargs, ctx);
  try {
    return await tool.execute(instance, args, ctx);
  } finally {
    await tool.release(instance);
  }
}

interface Call {
  readonly args: Table;
  readonly kwargs: Table;
}

/** What the model is told of a call: the result, or the words of the refusal. */
const told = (tool: Tool, { args, kwargs }: Call): Promise<unknown> =>
  callOnce(tool, args, kwargs).catch((error: unknown) => reasonOf(error));

/** Calls as models make them: the names of the schema and others, values of any type. */
function calls({ tool, kwargs }: ToolSubject): fc.Arbitrary<Call> {
  const names = Object.keys(tool.schema.function.parameters.properties ?? {});
  const value = fc.oneof(answers, fc.integer(), fc.double(), fc.constantFrom(null, true, [], {}, [1], { a: 1 }));
  const args = fc.dictionary(fc.constantFrom(...names, "other"), value, { maxKeys: names.length + 1 });
  return fc.record({ args, kwargs: fc.constantFrom(...kwargs) });
}

const describesAFunction: Property<ToolSubject> = {
  name: "its schema is that of a function",
  check({ tool }) {
    const { type, function: own } = tool.schema;
    if (type !== "function") throw new Violation(`\`schema.type\` is ${shown(type)}, not "function"`);
    if (!NAME.test(own.name))
      throw new Violation(
        `\`schema.function.name\` is ${shown(own.name)}; letters, digits, \`_\` and \`-\` are allowed`,
      );
    if (own.parameters.type !== "object") throw new Violation('`schema.function.parameters.type` is not "object"');
    compileParameters(own.parameters);
    const bare = Object.entries(own.parameters.properties ?? {}).find(
      ([, property]) => typeof property !== "object" || !property.description,
    );
    if (bare !== undefined)
      throw new Violation(`the parameter \`${bare[0]}\` has no description; the model reads nothing else`);
    const missing = own.parameters.required?.find((name) => !(name in (own.parameters.properties ?? {})));
    if (missing !== undefined) throw new Violation(`\`required\` names \`${missing}\`, which is no parameter`);
  },
};

const anythingIsAnswered: Property<ToolSubject> = forInputs(
  "any arguments are answered or refused in words",
  calls,
  async ({ tool }, { args, kwargs }) => {
    const ended = await inTime(callOnce(tool, args, kwargs));
    if (ended === undefined) return "it hangs";
    if (ended.error !== undefined)
      return ended.error instanceof Error && ended.error.message !== "" ? undefined : `it throws ${shown(ended.error)}`;
    const { content, reward } = ended.value!;
    if (typeof content !== "string" && !Array.isArray(content)) return `\`content\` is ${shown(content)}`;
    return reward === undefined || Number.isFinite(reward) ? undefined : `\`reward\` is ${reward}`;
  },
);

const instancesAlone: Property<ToolSubject> = forInputs(
  "samples do not know of each other",
  (subject) => fc.tuple(calls(subject), calls(subject)),
  async ({ tool }, [call, other]) => {
    const alone = await told(tool, call);
    const [beside] = await Promise.all([told(tool, call), told(tool, other)]);
    return isDeepStrictEqual(alone, beside)
      ? undefined
      : `beside another call it says ${shown(beside)}, not ${shown(alone)}`;
  },
);

const rewardsAreNumbers: Property<ToolSubject> = forInputs(
  "the reward of a sample is a finite number or none",
  calls,
  async ({ tool }, { args, kwargs }) => {
    const ctx = contextOf();
    const instance = await tool.create(kwargs, ctx);
    try {
      await tool.execute(instance, args, ctx);
    } catch {
      // A refused call is part of the sample too.
    }
    const reward = await tool.calcReward(instance);
    await tool.release(instance);
    return reward === undefined || Number.isFinite(reward) ? undefined : `it is ${String(reward)}`;
  },
);

const releaseUnused: Property<ToolSubject> = {
  name: "an instance that was never called can be released",
  async check({ tool, kwargs }) {
    await tool.release(await tool.create(kwargs[0] ?? {}, contextOf()));
  },
};

async function checkCall({ tool }: ToolSubject, { input, expected }: ToolCase): Promise<void> {
  const { arguments: args, create_kwargs, row } = input;
  const got = await callOnce(tool, args, create_kwargs, contextOf(row)).catch((error: unknown) => error as Error);
  if (expected.error !== undefined) {
    if (!(got instanceof Error)) throw new Violation(`it answers ${shown(got)}, where a refusal is expected`);
    if (!got.message.includes(expected.error)) throw new Violation(`it refuses with ${shown(got.message)}`);
    return;
  }
  if (got instanceof Error) throw got;
  for (const name of ["content", "reward"] as const) {
    if (name in expected && !isDeepStrictEqual(got[name], expected[name]))
      throw new Violation(`${name} is ${shown(got[name])}, not ${shown(expected[name])}`);
  }
}

/** The tests of one entry of the kind. */
export const toolSuite = (key: string, options: Given): Suite<ToolSubject, ToolCase> => ({
  kind: "tool",
  key,
  subject: () => toolOf(key, options),
  properties: [describesAFunction, anythingIsAnswered, instancesAlone, rewardsAreNumbers, releaseUnused],
  golden: checkCall,
});

/**
 * Tests a tool: whatever arguments a model gives are answered or refused in words, samples do not mix, and your golden cases.
 *
 *     testTool("my_tool", { cases: [{ name: "a sum", input: { arguments: { e: "1+1" } }, expected: { content: "2" } }] });
 *
 * @throws VERL_TESTING_CASES for golden cases that prove nothing; VERL_TESTING_SETUP without a test runner.
 */
export function testTool(key: string, options: ToolSuiteOptions): void {
  defineSuite(toolSuite(key, options), options);
}
