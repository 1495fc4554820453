import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { text as textOf } from "node:stream/consumers";
import { isDeepStrictEqual } from "node:util";
import { Option } from "commander";
import { inOrder, type ParsedAnswer, type ParseOptions, type ToolParser, type ToolSchema } from "../agent/index.ts";
import { loadTokenizer, parseLosslessJson, stringifyLosslessJson } from "../data/index.ts";
import { counted, VerlError } from "../errors/index.ts";
import { createRunContainer, registries, TOKENIZER } from "../registry/index.ts";
import { injectionFault } from "../registry/injection-fault.ts";
import type { CliCommand, CliContext } from "./command.ts";
import { addRegistryOptions, loadForOptions, type RegistryOptions } from "./registry-options.ts";

interface Options extends RegistryOptions {
  format: string;
  model?: string;
  tools?: string;
  finishReason?: "stop" | "length";
  strict?: boolean;
  recoverReasoning?: boolean;
  startsInReasoning?: boolean;
}

/** Cuts of a long text that are tried, evenly spread. */
const MAX_CUTS = 500;

export const command: CliCommand = {
  configure(self, ctx) {
    const attempt = self
      .command("try")
      .description("Read the tool calls of an answer, and check that pieces give the same");
    addRegistryOptions(attempt.argument("[file]", "the answer, special tokens kept; default: stdin"))
      .requiredOption("--format <key>", "tool-call format, as `verl list tool_parser` shows them")
      .option("--model <folder>", "model folder, for the format `auto`")
      .option("--tools <file>", "JSON list of the tools on offer, in OpenAI's form")
      .addOption(new Option("--finish-reason <why>", "why generation ended").choices(["stop", "length"]))
      .option("--strict", "a call that breaks its format is an error")
      .option("--recover-reasoning", "accept calls in reasoning that never closes, or that nothing follows")
      .option("--starts-in-reasoning", "the prompt ends inside a reasoning tag")
      .addHelpText("after", "\nExample:\n  verl parser try --format hermes --tools tools.json < answer.txt")
      .action(async (file: string | undefined, options: Options) => {
        await loadForOptions(options, ctx);
        const tokenizer =
          options.model === undefined
            ? undefined
            : await loadTokenizer(resolve(ctx.cwd, options.model), { folderKey: "--model" });
        const container = createRunContainer(tokenizer && { [TOKENIZER]: tokenizer });
        registries.tool_parser.resolve(options.format, { path: "--format" });
        if (tokenizer === undefined) checkNeedsNoModel(options.format);
        const parser = container.create("tool_parser", options.format);
        const { finishReason, strict, recoverReasoning, startsInReasoning } = options;
        const tools = options.tools === undefined ? undefined : await readToolFile(resolve(ctx.cwd, options.tools));
        const answer = await readAnswer(file, ctx);
        const read = { tools, finishReason, strict, recoverReasoning, startsInReasoning };

        const result = parser.parse(answer, read);
        const cuts = checkPieces(parser, options.format, answer, result, read);
        ctx.print(options.json ? stringifyLosslessJson({ ...result, cuts }) : describe(result, cuts));
      });
  },
};

/** @throws VERL_AGENT_TOOL_FORMAT when the model is all that the parser lacks. */
function checkNeedsNoModel(format: string): void {
  const { create } = registries.tool_parser.find(format).entry;
  if (injectionFault(create, () => true) ?? !injectionFault(create, (token) => token !== TOKENIZER)) return;
  throw new VerlError("VERL_AGENT_TOOL_FORMAT", `The format "${format}" cannot be read without a model.`, {
    hint: "Name one with --model <folder>; `auto` goes by its chat template. Or give the format itself with --format.",
  });
}

async function readAnswer(file: string | undefined, ctx: CliContext): Promise<string> {
  if (file !== undefined) return withoutLastBreak(await readText(resolve(ctx.cwd, file)));
  if (process.stdin.isTTY) ctx.logger.info("Type the answer, and end it with Ctrl-D.");
  return withoutLastBreak(await textOf(process.stdin));
}

/** Editors end a file with a line break, which no model wrote. */
const withoutLastBreak = (text: string): string => text.replace(/\r?\n$/, "");

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    throw invalid(path, "it cannot be read", cause);
  }
}

async function readToolFile(path: string): Promise<ToolSchema[]> {
  let value: unknown;
  try {
    value = parseLosslessJson(await readText(path));
  } catch (cause) {
    if (cause instanceof VerlError) throw cause;
    throw invalid(path, "it is not JSON", cause);
  }
  const tools = value as Partial<ToolSchema>[];
  const named = Array.isArray(tools) && tools.every((tool) => typeof tool?.function?.name === "string");
  if (!named) throw invalid(path, "it is not a list of tools with `function.name`");
  return tools as ToolSchema[];
}

function invalid(file: string, why: string, cause?: unknown): VerlError {
  return new VerlError("VERL_CLI_FILE", `The file ${file} cannot be used: ${why}.`, { location: { file }, cause });
}

/** Reads the answer cut in two at many places, and one letter at a time. @returns The number of cuts. */
function checkPieces(
  parser: ToolParser,
  format: string,
  answer: string,
  whole: ParsedAnswer,
  { finishReason, ...options }: ParseOptions,
): number {
  const step = Math.max(1, Math.ceil(answer.length / MAX_CUTS));
  const cuts = Array.from({ length: Math.ceil(answer.length / step) }, (_, index) => index * step);
  const ways = [...cuts.map((cut) => [answer.slice(0, cut), answer.slice(cut)]), answer.split("")];
  for (const pieces of ways) {
    const stream = parser.stream(options);
    for (const piece of pieces) stream.push(piece);
    if (isDeepStrictEqual(stream.end({ finishReason }), whole)) continue;
    const how = pieces.length > 2 ? "one letter at a time" : `cut at ${pieces[0]?.length}`;
    throw new VerlError(
      "VERL_AGENT_TOOL_PARSER",
      `The parser "${format}" reads this answer otherwise when it comes ${how}.`,
      {
        hint: "Let the parser extend StreamingToolParser, which decides by the text alone.",
        details: { format, pieces: pieces.length },
      },
    );
  }
  return cuts.length;
}

function describe({ content, reasoning, calls, errors }: ParsedAnswer, cuts: number): string {
  const marks = ({ id, repaired, mistyped }: ParsedAnswer["calls"][number]): string =>
    [id && `id ${id}`, repaired && "repaired", mistyped && `mistyped: ${mistyped.join(", ")}`]
      .filter(Boolean)
      .join("; ");
  const lines = inOrder({ calls, errors }).map((entry) =>
    "reason" in entry
      ? `error: ${entry.reason}  ${JSON.stringify(entry.raw)}`
      : [entry.name, stringifyLosslessJson(entry.arguments), marks(entry)].filter(Boolean).join("  "),
  );
  return [
    `content    ${JSON.stringify(content)}`,
    `reasoning  ${JSON.stringify(reasoning)}`,
    `calls      ${calls.length}, errors ${errors.length}`,
    ...lines.map((line) => `  ${line}`),
    `in pieces  the same, cut at ${counted(cuts, "place")} and one letter at a time`,
  ].join("\n");
}
