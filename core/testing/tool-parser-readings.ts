import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import type { JSONSchema7Definition } from "json-schema";
import type {
  AnswerDelta,
  ParsedAnswer,
  ParseOptions,
  ReadOptions,
  ToolCall,
  ToolParser,
  ToolSchema,
} from "../agent/index.ts";
import { shown } from "./plain-property.ts";

const TYPES = ["string", "integer", "number", "boolean", "null", "array", "object"] as const;
/** Arguments of a call that have a type each, and letters of their names: parsers need not tell every long path. */
const [MAX_TYPED, MAX_KEY] = [8, 32];

/** How answers may be read: by one of the tools that the texts call, in which each argument has some type, or by none. */
export function readOptions({
  parser,
  texts,
}: {
  parser: ToolParser;
  texts: readonly string[];
}): fc.Arbitrary<ReadOptions> {
  const tools = texts.flatMap((text) => callsIn(parser, text)).map(toolFor);
  return fc.record(
    {
      ...(tools.length > 0 && { tools: fc.oneof(...tools).map((tool) => [tool]) }),
      strict: fc.boolean(),
      recoverReasoning: fc.boolean(),
      startsInReasoning: fc.boolean(),
    },
    { requiredKeys: [] },
  );
}

/** None where reading throws, which properties tell of. */
function callsIn(parser: ToolParser, text: string): readonly ToolCall[] {
  try {
    return parser.parse(text).calls;
  } catch {
    return [];
  }
}

function toolFor({ name, arguments: args }: ToolCall): fc.Arbitrary<ToolSchema> {
  const types = Object.keys(args)
    .filter((key) => key.length <= MAX_KEY)
    .slice(0, MAX_TYPED)
    .map((key) => fc.constantFrom(...TYPES).map((type) => [key, { type }] as const));
  return fc.tuple(...types).map((properties) => ({
    type: "function",
    function: { name, description: "", parameters: { type: "object", properties: Object.fromEntries(properties) } },
  }));
}

/** Whether a value has the type of a schema that has no more than one. */
export function isOfType(value: unknown, schema: JSONSchema7Definition): boolean {
  const type = typeof schema === "object" ? schema.type : undefined;
  if (value === null) return type === "null";
  if (Array.isArray(value)) return type === "array";
  if (type === "integer") return typeof value === "bigint" || Number.isInteger(value);
  if (type === "number") return typeof value === "bigint" || typeof value === "number";
  return typeof value === type;
}

/** Reads the pieces. */
export function readPieces(
  parser: ToolParser,
  pieces: readonly string[],
  { finishReason, ...options }: ParseOptions = {},
) {
  const deltas: AnswerDelta[] = [];
  const stream = parser.stream({ ...options, onDelta: (delta) => void deltas.push(delta) });
  for (const piece of pieces) stream.push(piece);
  return { answer: stream.end({ finishReason }), deltas };
}

/** In what an answer is not as another, in words. @param how It was read. */
export function differs(got: ParsedAnswer, want: ParsedAnswer, how: string): string | undefined {
  const field = (["content", "reasoning", "calls", "errors"] as const).find(
    (name) => !isDeepStrictEqual(got[name], want[name]),
  );
  return field && `${how}, ${field} is ${shown(got[field])}, not ${shown(want[field])}`;
}
