import { loadPlugins, registries, TOKENIZER } from "../../core/registry/index.ts";
import { testToolParser, type ToolParserCase } from "../../core/testing/index.ts";
import { MORE_CASES } from "./more-cases.ts";
import { PUBLIC_REPORTS, type ParserCase } from "./public-reports.ts";

await loadPlugins([]);

const golden = ({ name, text, options, content, reasoning, calls = [], errors }: ParserCase): ToolParserCase => ({
  name,
  input: { text },
  config: options,
  expected: {
    content: content ?? "",
    reasoning,
    calls: calls.map(([call, args, rest]) => ({ name: call, arguments: args as Record<string, unknown>, ...rest })),
    errors,
  },
});

const casesOf = (format: string): ToolParserCase[] =>
  [...PUBLIC_REPORTS, ...MORE_CASES].filter((given) => given.format === format).map(golden);

for (const key of registries.tool_parser.keys().filter((key) => key !== "auto"))
  testToolParser(key, { cases: casesOf(key) });

// A parser that stands for another: by the chat template, here one that writes hermes calls.
testToolParser("auto", {
  cases: casesOf("hermes"),
  values: { [TOKENIZER]: { chatTemplate: "{{ '<tool_call>' }}" } },
});
