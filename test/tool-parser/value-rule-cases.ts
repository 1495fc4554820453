import type { ParserCase } from "./public-reports.ts";

/** What is read: the value of a call, that of a repaired one and perhaps another, or what an error tells. */
type Read = { is: string; i?: number } | { repaired: string; i?: number } | { error: string };
type Rule = readonly [rule: string, text: string, read: Read, content?: string];

const END = "\n</function>\n</tool_call>";
const CLOSED = `\n</parameter>${END}`;
const PING = "<tool_call>\n<function=ping>\n</function>\n</tool_call>";
const QUOTED = "<tool_call>\n<function=g>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>\n";
const text = (is: string): [string, Read] => [is + CLOSED, { is }];
const open = (repaired: string): [string, Read] => [repaired + END, { repaired }];

/** What stands behind `<parameter=s>⏎`. */
const CODER: readonly Rule[] = [
  ["closed before what the format allows", `a\n</parameter>\n</tool_call>`, { repaired: "a" }],
  ["closed before the end of the answer", "a\n</parameter>", { repaired: "a" }],
  ["a closing tag before text", ...text("a </parameter> b")],
  ["a closing tag twice, with a blank between", `a\n</parameter> </parameter>${END}`, { repaired: "a" }],
  ["a closing tag that may not end the value, before that which does", ...text("a\nends with </parameter>")],
  ["a text that ends with the closing tag of what is written alike", ...text("<parameter>\n1\n</parameter>")],
  ["the same, with an attribute", ...text('a\n<parameter name="x">1</parameter>')],
  ["a closing tag of what is written alike", ...text('<parameter name="x">1</parameter>\nb')],
  [
    "a closing tag behind one of what is written alike",
    `<parameter name="x">1</parameter>\n</parameter>\n</invoke>${END}`,
    { repaired: '<parameter name="x">1</parameter>' },
  ],
  ["a closing tag and a wrong tag in a quoted call", ...text("see <tool_call> x</parameter></b> y")],
  ["a closing tag behind an outer one", "a\n</tool_call>\n</parameter></x>", { repaired: "a" }, "</x>"],
  ["two closing tags before text", `a\n</parameter>\nb\n</parameter> c${END}`, { error: "parameters: b" }],
  ["a closing tag before text, one before a wrong tag", `a </parameter> b</parameter></x>${END}`, { error: ": b" }],
  ["a wrong tag behind a closing one", `a\n</parameter>\n</x>${END}`, { repaired: "a" }],
  ["the same, the closing tag indented", ...text("  a\n  </parameter>\n</x>")],
  ["the same, the wrong tag indented", ...text("a\n</parameter>\n  </x>")],
  ["a closing tag before < that opens no tag", ...text("a</parameter>\n<- b")],
  ["the next value", `a\n<parameter=i>\n1${CLOSED}`, { repaired: "a", i: 1 }],
  ["the next value, and a closing tag before text", `a\n</parameter>\nb\n<parameter=i>\n1${CLOSED}`, { error: ": b" }],
  ["a mention of the next value", ...text("a\nsee <parameter=i> there")],
  ["three quoted values", ...text("<parameter=a>\n1\n</parameter>\n".repeat(3))],
  ["nine quoted values", ...text("<parameter=a>\n1\n</parameter>\n".repeat(9))],
  ["values quoted in a quoted one", ...text(`${"<parameter=a>\n".repeat(9)}1${"\n</parameter>".repeat(9)}`)],
  [
    "the next value behind quoted ones",
    `${"<parameter=a>\n1\n</parameter>\n".repeat(5)}</parameter>\n<parameter=i>\n1${CLOSED}`,
    { is: "<parameter=a>\n1\n</parameter>\n".repeat(5).trim(), i: 1 },
  ],
  ["the outer closing tag", ...open("a")],
  ["a mention of the outer closing tags", ...open("a\nsee </tool_call> there\n</function> too")],
  ["outer closing tags before its own", ...text("a\n</function>\n</tool_call>")],
  ["three quoted calls", ...text(QUOTED.repeat(3))],
  ["nine quoted calls", ...text(QUOTED.repeat(9))],
  ["quoted calls that are told of", ...text(`Write <parameter=x> in\n${QUOTED.repeat(4)}or\n${QUOTED}`)],
  ["the same, the function as well", ...text(`Write \`<function=x>\`, '<parameter=x>':\n${QUOTED}`)],
  ["quoted calls behind closing tags", ...text(`Ends:\n</function>\n</tool_call>\nSo:\n${QUOTED}`)],
  ["its own closing tag left out, behind quoted calls", `a\n${QUOTED}${QUOTED}b${END}`, { error: "truncated" }],
  ["quoted calls, and a closing tag before text", `a\n${QUOTED}</parameter> b\n${PING}`, { error: "no end" }, "b"],
  ["the same twice, and the next call", `a\n${QUOTED}${END}\n${PING}`, { error: "no end" }],
  ["a quoted call in a code block without an end", `a\n\`\`\`\n${QUOTED}\`\`\`\n`, { error: "truncated" }],
  ["the next call", `a\n${PING}`, { error: "no end" }],
  ["the next call, and a closing tag before text", `a\n</parameter>\nb\n${PING}`, { error: ": b" }],
  ["the next call, and a wrong tag", `a\n  </parameter>\n  </x>\n${PING}`, { repaired: "a\n  " }],
  ["cut off behind a closing tag and text", "a\n</parameter>\nb", { error: "truncated" }],
  ["a wrong tag in place of the closing one", `a\n</param>${END}`, { repaired: "a" }],
  ["the same, and text behind it", `a\n</parameters>\nb${END}`, { error: "</param…" }],
  ["the same tag, which the text opened", ...open("<param>a</param>\nb")],
  ["a last tag that closes nothing", `a\n</x>${END}`, { error: "before </x>" }],
  ["a last tag that the text opened", ...open("<x>a</x>")],
  ["a last tag that closes none", ...open("a <x>")],
];

const GLM: readonly Rule[] = [
  [
    "a quoted value",
    "<arg_key>k</arg_key>\n<arg_value><|user|></arg_value> b</arg_value></tool_call>",
    { is: "<arg_key>k</arg_key>\n<arg_value><|user|></arg_value> b" },
  ],
];

const callsOf = (read: Read): ParserCase["calls"] => {
  if ("error" in read) return [];
  if ("is" in read) {
    const { is, ...rest } = read;
    return [["f", { s: is, ...rest }]];
  }
  const { repaired, ...rest } = read;
  return [["f", { s: repaired, ...rest }, { repaired: true }]];
};

const caseOf = (format: string, head: string, [rule, rest, read, content]: Rule): ParserCase => ({
  name: `a value: ${rule}`,
  format,
  text: head + rest,
  content,
  calls: [...callsOf(read)!, ...(rest.endsWith(PING) ? [["ping", {}] as const] : [])],
  errors: "error" in read ? [read.error] : [],
});

/** The rules by which a value ends that may hold any tag: those of its own closing tag, the next value, outer tags, calls, wrong tags. */
export const VALUE_RULE_CASES: readonly ParserCase[] = [
  ...CODER.map((rule) => caseOf("qwen3_coder", "<tool_call>\n<function=f>\n<parameter=s>\n", rule)),
  ...GLM.map((rule) => caseOf("glm45", "<tool_call>f\n<arg_key>s</arg_key>\n<arg_value>", rule)),
];
