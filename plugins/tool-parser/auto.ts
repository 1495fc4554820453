import {
  inject,
  TOKENIZER,
  ToolParser,
  VerlError,
  type StreamOptions,
  type Tokenizer,
  type ToolParserStream,
} from "verl";
import { DeepSeekDsmlToolParser } from "./deepseek-dsml.ts";
import { DeepSeekToolParser } from "./deepseek.ts";
import { Glm45ToolParser } from "./glm45.ts";
import { GptOssToolParser } from "./gpt-oss.ts";
import { HermesToolParser } from "./hermes.ts";
import { KimiK2ToolParser } from "./kimi-k2.ts";
import { Llama3JsonToolParser } from "./llama3-json.ts";
import { Llama4ToolParser } from "./llama4.ts";
import { MistralToolParser } from "./mistral.ts";
import { PythonicToolParser } from "./pythonic.ts";
import { Qwen3CoderToolParser } from "./qwen3-coder.ts";

/** Formats by what their chat templates hold, the most telling first. */
const SIGNS: readonly (readonly [key: string, create: new () => ToolParser, ...signs: string[]])[] = [
  ["gpt_oss", GptOssToolParser, "<|channel|>", "<|message|>"],
  ["kimi_k2", KimiK2ToolParser, "<|tool_call_argument_begin|>"],
  ["deepseek_v3_2", DeepSeekDsmlToolParser, "｜DSML｜"],
  ["deepseek_v3", DeepSeekToolParser, "<｜tool▁call▁begin｜>", "```json"],
  ["deepseek_v3_1", DeepSeekToolParser, "<｜tool▁call▁begin｜>"],
  ["qwen3_coder", Qwen3CoderToolParser, "<function="],
  ["glm45", Glm45ToolParser, "<arg_key>"],
  ["hermes", HermesToolParser, "<tool_call>"],
  ["mistral", MistralToolParser, "[TOOL_CALLS]"],
  ["llama4_pythonic", Llama4ToolParser, "<|python_start|>"],
  ["pythonic", PythonicToolParser, "func_name1("],
  ["llama3_json", Llama3JsonToolParser, "<|python_tag|>"],
  ["llama3_json", Llama3JsonToolParser, "<|start_header_id|>", '"parameters"'],
];

/** The format that a chat template writes calls in; undefined when it is none of the known ones. */
export const toolFormatOf = (chatTemplate: string): string | undefined => find(chatTemplate)?.[0];

const find = (template: string) => SIGNS.find(([, , ...signs]) => signs.every((sign) => template.includes(sign)));

/** Reads the format that the tokenizer's chat template writes. */
export class AutoToolParser extends ToolParser {
  private readonly parser: ToolParser;

  constructor(@inject(TOKENIZER) { chatTemplate, toolTemplate = chatTemplate }: Tokenizer) {
    super();
    const found = find(toolTemplate ?? "");
    if (found === undefined) {
      const what =
        toolTemplate === undefined
          ? "The model has no chat template"
          : "The chat template writes no tool calls in a known format";
      throw new VerlError("VERL_AGENT_TOOL_FORMAT", `${what}, so the tool-call format cannot be found out.`, {
        hint: `Set actor_rollout_ref.rollout.multi_turn.format: ${[...new Set(SIGNS.map(([key]) => key)), "json"].join(", ")}.`,
      });
    }
    this.parser = new found[1]();
  }

  stream(options?: StreamOptions): ToolParserStream {
    return this.parser.stream(options);
  }
}
