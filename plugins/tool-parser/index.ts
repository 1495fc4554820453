import { provide } from "verl";
import { AutoToolParser } from "./auto.ts";
import { DeepSeekDsmlToolParser } from "./deepseek-dsml.ts";
import { DeepSeekToolParser } from "./deepseek.ts";
import { Glm45ToolParser } from "./glm45.ts";
import { GptOssToolParser } from "./gpt-oss.ts";
import { HermesToolParser } from "./hermes.ts";
import { JsonToolParser } from "./json.ts";
import { KimiK2ToolParser } from "./kimi-k2.ts";
import { Llama3JsonToolParser } from "./llama3-json.ts";
import { Llama4ToolParser } from "./llama4.ts";
import { MistralToolParser } from "./mistral.ts";
import { PythonicToolParser } from "./pythonic.ts";
import { Qwen3CoderToolParser } from "./qwen3-coder.ts";

export const toolParsers = [
  provide("tool_parser", "auto", {
    description: "The format that the model's chat template writes.",
    create: AutoToolParser,
  }),
  provide("tool_parser", "deepseek_v3", {
    description: "DeepSeek V3 and R1: a type, a name and a code block between special tokens.",
    create: DeepSeekToolParser,
  }),
  provide("tool_parser", "deepseek_v3_1", {
    description: "DeepSeek V3.1 and V3.2-Exp: a name and bare JSON between special tokens.",
    create: DeepSeekToolParser,
  }),
  provide("tool_parser", "deepseek_v3_2", {
    description: "DeepSeek V3.2 and V4 (DSML): XML-like tags, each with a special token.",
    aliases: ["deepseek_v4"],
    create: DeepSeekDsmlToolParser,
  }),
  provide("tool_parser", "glm45", {
    description: "GLM 4.5 and later: keys and values in tags.",
    aliases: ["glm46", "glm47"],
    create: Glm45ToolParser,
  }),
  provide("tool_parser", "gpt_oss", {
    description: "gpt-oss (harmony): messages with channels and recipients.",
    aliases: ["gpt-oss", "harmony"],
    departures: [
      "The leading start tag may be missing, and the recipient may stand before the channel; verl finds no call then.",
      "Arguments that are no object are an error; verl hands their text on.",
      "Reasoning is returned; verl drops it.",
    ],
    create: GptOssToolParser,
  }),
  provide("tool_parser", "hermes", {
    description: "Hermes, Qwen 2.5 and Qwen 3: JSON in <tool_call> tags.",
    aliases: ["qwen", "qwen2_5", "qwen3"],
    departures: [
      "A closing tag in a string argument is text; verl ends the call there and loses it.",
      "Arguments in a string are decoded once; verl hands on a string that holds a string.",
      "Missing or null arguments are an empty object; verl drops the call. A list is an error; verl hands it on.",
      "A call without closing tag, or with doubled tags, is read and marked as repaired; verl leaves it in the content.",
      "A call that cannot be read is an error with its text and reason; verl logs it.",
      "Reasoning is split off, and calls in it are not run; verl runs them.",
      "Behind a token that ends the turn a call is an error, unless prose speaks of the token; verl runs it.",
    ],
    create: HermesToolParser,
  }),
  provide("tool_parser", "json", {
    description: "Calls as plain JSON, alone, in a list or in a code block.",
    create: JsonToolParser,
  }),
  provide("tool_parser", "kimi_k2", {
    description: "Kimi K2: a section of calls with ids between special tokens.",
    create: KimiK2ToolParser,
  }),
  provide("tool_parser", "llama3_json", {
    description: "Llama 3: JSON objects with parameters, after a tag or bare.",
    create: Llama3JsonToolParser,
  }),
  provide("tool_parser", "llama4_pythonic", {
    description: "Llama 4: a list of Python calls between tags, or JSON objects with parameters.",
    create: Llama4ToolParser,
  }),
  provide("tool_parser", "mistral", {
    description: "Mistral: a JSON list, or names with arguments, after a token.",
    create: MistralToolParser,
  }),
  provide("tool_parser", "pythonic", {
    description:
      "A list of Python calls: Llama 3.2 and others. Where no tools are given, it must stand alone on its lines.",
    create: PythonicToolParser,
  }),
  provide("tool_parser", "qwen3_coder", {
    description: "Qwen3-Coder and Qwen 3.5: XML-like tags.",
    aliases: ["qwen3_xml", "qwen3_5"],
    create: Qwen3CoderToolParser,
  }),
];
