import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import {
  type ParsedAnswer,
  type ParseOptions,
  type ReadOptions,
  type ToolCall,
  type ToolParser,
} from "../agent/index.ts";
import { createRunContainer, type TokenValues } from "../registry/index.ts";
import type { GoldenCase } from "./cases.ts";
import type { EntrySubject } from "./entry-properties.ts";
import { shown } from "./plain-property.ts";
import { Violation, type Property } from "./property.ts";
import { entryUnder, optionsOf } from "./subject.ts";
import { defineSuite, type Suite, type SuiteOptions } from "./suite.ts";
import { differs, isOfType, readOptions, readPieces } from "./tool-parser-readings.ts";
import { cutInPieces, garbledTexts, marksOf } from "./tool-parser-texts.ts";

/** A worked example of a tool parser: an answer, how it is read (`config`), and all that is in it. */
export type ToolParserCase = GoldenCase<
  { readonly text: string },
  {
    /** Without white space around it. Default: empty. */
    readonly content?: string;
    /** Likewise. */
    readonly reasoning?: string;
    /** Default: none. */
    readonly calls?: readonly ToolCall[];
    /** Of each error, a part of its reason. Default: none. */
    readonly errors?: readonly string[];
  },
  ParseOptions
>;

export interface ToolParserSuiteOptions extends SuiteOptions<ToolParserCase> {
  /** Worked examples; texts for the properties are made from them too. */
  readonly cases: readonly ToolParserCase[];
  /** Injected values of a parser that asks for some: `{ [TOKENIZER]: tokenizer }`. */
  readonly values?: TokenValues;
  /** Random texts a property. Default: 200. */
  readonly runs?: number;
}

interface ParserSubject extends EntrySubject {
  readonly parser: ToolParser;
  readonly texts: readonly string[];
  readonly runs: number;
}

/** Calls as many models write them, for a parser of which no example is known. */
const USUAL_TEXTS = [
  '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>',
  '[f(a=1)] and {"name": "g", "parameters": {}}',
];

const SEED = 20_260_102;
/** Letters of a hostile text; four times as many must not take many times as long. */
const HOSTILE = 25_000;
/** Below so many milliseconds of the processor's time nobody waits, and clocks say little. */
const SLOW_MS = 250;

/** How a property cuts a text, and how it has it read. */
interface Reading {
  readonly sizes: readonly number[];
  readonly options: ReadOptions;
}

/**
 * A property that must hold for every garbled text of the format, however it is to be read.
 * @param complaint what is wrong, in words; undefined: nothing.
 */
function forAllTexts(
  name: string,
  complaint: (subject: ParserSubject, text: string, reading: Reading) => string | undefined,
): Property<ParserSubject> {
  return {
    name,
    check(subject, shrink = true) {
      const reading = fc.record({
        sizes: fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 5 }),
        options: readOptions(subject),
      });
      const property = fc.property(garbledTexts(subject.texts), reading, (text, given) => {
        const what = complaint(subject, text, given);
        if (what !== undefined) throw new Violation(what);
      });
      const { failed, counterexample, errorInstance } = fc.check(property, {
        seed: SEED,
        numRuns: subject.runs,
        endOnFailure: !shrink,
      });
      if (!failed) return;
      const what = errorInstance instanceof Violation ? errorInstance.message : `it threw ${String(errorInstance)}`;
      const [text, { options }] = counterexample!;
      const how = Object.keys(options).length > 0 ? `\nIt is read with ${JSON.stringify(options)}` : "";
      throw new Violation(`${what}.\nThe smallest text that shows it: ${JSON.stringify(text)}${how}`);
    },
  };
}

const wellFormed = forAllTexts(
  "calls have a name and arguments, errors a text and a reason",
  ({ parser }, text, { options }) => {
    const { calls, errors } = parser.parse(text, options);
    const plain = (value: unknown): boolean => typeof value === "object" && value !== null && !Array.isArray(value);
    const call = calls.find(({ name, arguments: args }) => typeof name !== "string" || name === "" || !plain(args));
    if (call !== undefined) return `it reads the call ${shown(call)}`;
    const error = errors.find(({ raw, reason }) => raw === "" || reason === "");
    return error && `it reports the error ${shown(error)}`;
  },
);

const typed = forAllTexts(
  "arguments have the types that a tool's schema asks for, or are told as mistyped",
  ({ parser }, text, { options }) => {
    const { calls } = parser.parse(text, options);
    for (const { name, arguments: args, mistyped = [] } of calls) {
      const tool = options.tools?.find(({ function: { name: known } }) => known === name);
      const wrong = Object.entries(tool?.function.parameters.properties ?? {}).find(
        ([key, schema]) => Object.hasOwn(args, key) && mistyped.includes(key) === isOfType(args[key], schema),
      );
      if (wrong === undefined) continue;
      const [key, schema] = wrong;
      const told = mistyped.includes(key) ? "tells as mistyped" : "does not tell as mistyped";
      return `of the call ${shown({ name, arguments: args })} it ${told} ${JSON.stringify(key)}, which is to be ${shown(schema)}`;
    }
    return undefined;
  },
);

const piecesAlike = forAllTexts("pieces give the same as the whole", ({ parser }, text, { sizes, options }) => {
  const whole = parser.parse(text, options);
  return differs(
    readPieces(parser, cutInPieces(text, sizes), options).answer,
    whole,
    `in pieces of ${sizes.join(", ")}`,
  );
});

const deltasAddUp = forAllTexts(
  "what is told while an answer comes adds up to it",
  ({ parser }, text, { sizes, options }) => {
    const { answer, deltas } = readPieces(parser, cutInPieces(text, sizes), options);
    const told: ParsedAnswer = { content: "", reasoning: "", calls: [], errors: [] };
    for (const delta of deltas) {
      if (delta.type === "call") {
        if (delta.index !== told.calls.length) return `call ${told.calls.length} is told as number ${delta.index}`;
        told.calls.push(delta.call);
      } else if (delta.type === "error") told.errors.push(delta.error);
      else if (delta.type === "retract")
        Object.assign(told, { content: "", reasoning: delta.reasoning, calls: [], errors: [] });
      else told[delta.type] += delta.text;
    }
    return differs(told, answer, "what was told");
  },
);

const cutRunsNothing = forAllTexts(
  "of an answer that was cut off no call is run, and none is lost",
  ({ parser }, text, { options }) => {
    const whole = parser.parse(text, options);
    const cut = parser.parse(text, { ...options, finishReason: "length" });
    if (cut.calls.length > 0) return `it runs ${shown(cut.calls[0])}`;
    const lost = whole.calls.length + whole.errors.length - cut.errors.length;
    return lost > 0 ? `${lost} calls or errors are missing from the errors` : undefined;
  },
);

const strictRefuses = forAllTexts("strict reading accepts no repaired call", ({ parser }, text, { options }) => {
  const repaired = parser.parse(text, { ...options, strict: true }).calls.find((call) => call.repaired);
  return repaired && `it accepts ${shown(repaired)}`;
});

const nothingKept = forAllTexts("answers do not know of each other", ({ parser, texts }, text, { sizes, options }) => {
  const alone = parser.parse(text, options);
  const [one, other] = [parser.stream(options), parser.stream()];
  const strange = cutInPieces(texts[0]!, sizes);
  cutInPieces(text, sizes).forEach((piece, index) => {
    one.push(piece);
    if (strange[index] !== undefined) other.push(strange[index]);
  });
  return differs(one.end(), alone, "beside another answer");
});

/** Letters that are part of no format. */
const PLAIN = fc.string({ unit: fc.constantFrom(..."abc XYZ0189.,;!?-é漢😀\n") });

const plainIsContent: Property<ParserSubject> = {
  name: "text without any mark is content, letter for letter",
  check({ parser, runs }) {
    const reads = (text: string): boolean =>
      isDeepStrictEqual(parser.parse(text), { content: text, reasoning: "", calls: [], errors: [] });
    const { failed, counterexample } = fc.check(fc.property(PLAIN, reads), { seed: SEED, numRuns: runs });
    if (failed) throw new Violation(`it reads ${JSON.stringify(counterexample?.[0])} as something else`);
  },
};

const linear: Property<ParserSubject> = {
  name: "hostile texts take linear time",
  check({ parser, texts }) {
    const units = [...marksOf(texts), ...texts.map((text) => text.slice(0, 40)), "{", "[", '"', "\\"];
    for (const unit of units) {
      const time = (length: number): number => {
        const text = unit.repeat(Math.ceil(length / unit.length)).slice(0, length);
        const start = process.cpuUsage();
        parser.parse(text);
        const { user, system } = process.cpuUsage(start);
        return (user + system) / 1000;
      };
      if (time(4 * HOSTILE) < SLOW_MS) continue;
      const [short, long] = [0, 1].reduce(
        ([a, b]) => [Math.min(a, time(HOSTILE)), Math.min(b, time(4 * HOSTILE))] as const,
        [Infinity, Infinity] as const,
      );
      if (long >= SLOW_MS && long > 8 * short)
        throw new Violation(
          `${JSON.stringify(unit)} over and over takes ${short.toFixed(0)} ms for ${HOSTILE} letters, ${long.toFixed(0)} ms for four times as many`,
        );
    }
  },
};

const PROPERTIES: readonly Property<ParserSubject>[] = [
  wellFormed,
  typed,
  piecesAlike,
  deltasAddUp,
  cutRunsNothing,
  strictRefuses,
  nothingKept,
  plainIsContent,
  linear,
];

/** Reads a golden case whole, cut in two at every place, and letter by letter. */
function checkGolden({ parser }: ParserSubject, { input: { text }, config = {}, expected }: ToolParserCase): void {
  const answer = parser.parse(text, config);
  const { content = "", reasoning = "", calls = [], errors = [] } = expected;
  const what =
    (answer.content.trim() !== content && `content is ${shown(answer.content.trim())}, not ${shown(content)}`) ||
    (answer.reasoning.trim() !== reasoning &&
      `reasoning is ${shown(answer.reasoning.trim())}, not ${shown(reasoning)}`) ||
    (!isDeepStrictEqual(answer.calls, calls) && `calls are ${shown(answer.calls)}, not ${shown(calls)}`) ||
    (answer.errors.length !== errors.length && `there are ${answer.errors.length} errors, not ${errors.length}`);
  if (what) throw new Violation(what);
  const other = errors.find((part, index) => !answer.errors[index]!.reason.includes(part));
  if (other !== undefined) throw new Violation(`no error says "${other}": ${shown(answer.errors)}`);

  const ways = Array.from({ length: text.length + 1 }, (_, cut) => [text.slice(0, cut), text.slice(cut)]);
  for (const pieces of [...ways, text.split("")]) {
    const how = pieces.length === 2 ? `cut at ${pieces[0]!.length}` : "letter by letter";
    const broken = differs(readPieces(parser, pieces, config).answer, answer, how);
    if (broken !== undefined) throw new Violation(broken);
  }
}

/** The tests of one entry of the kind. */
export const toolParserSuite = (
  key: string,
  {
    cases,
    values,
    runs = 200,
    options: given,
  }: Omit<ToolParserSuiteOptions, "cases"> & { readonly cases?: readonly ToolParserCase[] },
): Suite<ParserSubject, ToolParserCase> => ({
  kind: "tool_parser",
  key,
  subject: () => {
    const { entry, key: canonical } = entryUnder("tool_parser", key);
    const options = optionsOf("tool_parser", key, given);
    const parser = createRunContainer(values).create("tool_parser", key, { options: given });
    const texts = cases?.map(({ input }) => input.text) ?? USUAL_TEXTS;
    return { kind: "tool_parser", key: canonical, entry, options, parser, texts, runs };
  },
  properties: PROPERTIES,
  golden: checkGolden,
});

/**
 * Tests a tool parser: that it reads any text without a throw and in linear time, the same in pieces as whole, whatever the options, gives
 * arguments the types of a tool's schema, loses no call and runs none of an answer that was cut off; and your golden cases, cut at every
 * place.
 *
 *     testToolParser("my_format", {
 *       cases: [{ name: "one call", input: { text: '<call>f {}</call>' }, expected: { calls: [{ name: "f", arguments: {} }] } }],
 *     });
 *
 * @throws VERL_TESTING_CASES for golden cases that prove nothing; VERL_TESTING_SETUP without a test runner.
 */
export function testToolParser(key: string, options: ToolParserSuiteOptions): void {
  defineSuite(toolParserSuite(key, options), options);
}
