import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { ChatTemplate } from "../../core/data/chat-template.ts";
import { readParquet } from "../../core/data/parquet/read-parquet.ts";
import { writeParquet } from "../../core/data/parquet/write-parquet.ts";
import { loadSftDataset } from "../../core/data/sft-dataset.ts";
import type { ChatMessage, ChatTemplateOptions, Tokenizer } from "../../core/data/tokenizer.ts";
import { errorOf, folderWith, recordingLogger } from "./helpers.ts";

/** ChatML with tools, as today's instruct models write it: results of consecutive calls share one turn. */
const CHATML = `{%- if tools %}{{ '<|im_start|>system\\n' }}{%- for tool in tools %}{{ tool | tojson }}{{ '\\n' }}{%- endfor %}{{ '<|im_end|>\\n' }}{%- endif %}
{%- for message in messages %}
  {%- if message.role == 'tool' %}
    {%- if loop.index0 == 0 or messages[loop.index0 - 1].role != 'tool' %}{{ '<|im_start|>user' }}{%- endif %}
    {{- '\\n<tool_response>\\n' + message.content + '\\n</tool_response>' }}
    {%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{ '<|im_end|>\\n' }}{%- endif %}
  {%- else %}
    {{- '<|im_start|>' + message.role + '\\n' + (message.content or '') }}
    {%- for call in message.tool_calls or [] %}{{ '\\n<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' + (call.function.arguments | tojson) + '}\\n</tool_call>' }}{%- endfor %}
    {{- '<|im_end|>\\n' }}
  {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{%- endif %}`;

const END = "<|im_end|>";

/** One token a character; the end of a turn is one. */
class CharTokenizer implements Tokenizer {
  readonly vocabSize = 0x110000;
  readonly padTokenId = 0;
  readonly eosTokenId = 1;
  readonly chatTemplate = CHATML;
  private readonly template = new ChatTemplate(CHATML, {}, "test");

  encode(text: string): Int32Array {
    return Int32Array.from(
      text.split(END).flatMap((part, at) => [...(at > 0 ? [1] : []), ...[...part].map((c) => c.codePointAt(0)!)]),
    );
  }

  decode(ids: ArrayLike<number>): string {
    return Array.from(ids, (id) => (id === 1 ? END : String.fromCodePoint(id))).join("");
  }

  renderChat(messages: readonly ChatMessage[], options?: ChatTemplateOptions): string {
    return this.template.render(messages, options);
  }

  encodeChat(messages: readonly ChatMessage[], options?: ChatTemplateOptions): Int32Array {
    return this.encode(this.renderChat(messages, options));
  }
}

const WEATHER = {
  type: "function",
  function: { name: "weather", parameters: { properties: { city: { type: "string" } } } },
};
const TIME = { type: "function", function: { name: "time", parameters: { properties: { zone: { type: "string" } } } } };
const call = (name: string, args: string) => ({ function: { name, arguments: args } });

const ROWS = [
  {
    messages: [
      { role: "user", content: "Rain in Oslo and Bergen?" },
      {
        role: "assistant",
        content: "I ask.",
        tool_calls: [call("weather", '{"city":"Oslo"}'), call("weather", '{"city":"Bergen"}')],
      },
      { role: "tool", content: "dry" },
      { role: "tool", content: "rain" },
      { role: "assistant", content: "Only in Bergen." },
      { role: "user", content: "Thanks" },
      { role: "assistant", content: "Bye." },
    ],
    tools: [WEATHER],
  },
  {
    messages: [
      { role: "user", content: "Time?" },
      { role: "assistant", content: null, tool_calls: [call("time", '{"zone":"UTC"}')] },
      { role: "tool", content: "noon" },
      { role: "assistant", content: "Noon." },
    ],
    tools: [TIME],
  },
];

/** The trained text of both rows. */
const TRAINED = [
  'I ask.\n<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>\n<tool_call>\n{"name": "weather", "arguments": {"city": "Bergen"}}\n</tool_call><|im_end|>' +
    "Only in Bergen.<|im_end|>Bye.<|im_end|>",
  '\n<tool_call>\n{"name": "time", "arguments": {"zone": "UTC"}}\n</tool_call><|im_end|>Noon.<|im_end|>',
];

const SCHEMA = {
  messages: [
    { role: "string", content: "string", tool_calls: [{ function: { name: "string", arguments: "string" } }] },
  ],
  tools: [
    {
      type: "string",
      function: {
        name: "string",
        parameters: { properties: { city: { type: "string" }, zone: { type: "string" } } },
      },
    },
  ],
} as const;

async function load(file: string, toolsKey = "tools") {
  const tokenizer = new CharTokenizer();
  const dataset = await loadSftDataset({
    files: [file],
    maxSamples: -1,
    config: {
      messages_key: "messages",
      tools_key: toolsKey,
      max_length: 2000,
      truncation: "error",
      apply_chat_template_kwargs: {},
    },
    tokenizer,
    log: recordingLogger(),
  });
  return Array.from({ length: dataset.length }, (_, index) => {
    const { ids, lossMask } = dataset.example(index);
    return { text: tokenizer.decode(ids), trained: tokenizer.decode(ids.filter((_id, at) => lossMask[at] === 1)) };
  });
}

describe("SFT on conversations with tools", () => {
  const folder = folderWith({ "a.jsonl": ROWS.map((row) => JSON.stringify(row)).join("\n") });

  it("trains the assistant's words and calls in every turn, and neither results nor tools", async () => {
    const rows = await load(join(folder, "a.jsonl"));
    expect(rows.map(({ trained }) => trained)).toEqual(TRAINED);
    expect(rows[0]!.text).toContain("<tool_response>\ndry\n</tool_response>\n<tool_response>\nrain");
    expect(rows[0]!.text).toContain('"name": "weather"');
    expect(rows[1]!.text).toContain('"name": "time"');
  });

  it("reads the same from parquet, whose structs have the fields of all rows", async () => {
    const file = join(folder, "a.parquet");
    await writeParquet(file, ROWS, SCHEMA);
    const [first] = await readParquet(file);
    expect(JSON.stringify(first!.tools)).toContain('"zone":null');
    expect(await load(file)).toEqual(await load(join(folder, "a.jsonl")));
  });

  it("offers no tools where the column is another one, and names a row whose tools are none", async () => {
    const rows = await load(join(folder, "a.jsonl"), "functions");
    expect(rows[0]!.text).not.toContain("<|im_start|>system");
    const broken = folderWith({ "b.jsonl": JSON.stringify({ ...ROWS[0], tools: "weather" }) });
    const error = await errorOf(() => load(join(broken, "b.jsonl")));
    expect(error).toMatchObject({ code: "VERL_DATA_COLUMN_TYPE", details: { column: "tools", row: 0 } });
  });
});
