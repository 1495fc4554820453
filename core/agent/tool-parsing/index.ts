export { AnswerWriter, TRUNCATED, type FoundCall, type FoundTextCall } from "./answer-writer.ts";
export { DEFINITION, looksLikeCall, messageOf, type CallMessage, type CallObject } from "./call-object.ts";
export { isWord, readLiteral, type LiteralOptions, type LiteralResult } from "./literal.ts";
export { MarkedToolParser } from "./marked-parser.ts";
export {
  emitCalls,
  readArgumentsCall,
  readCallObjects,
  readTaggedJson,
  readStrayClose,
  strayClose,
  takeFence,
  type ArgumentsSyntax,
  type CallItem,
  type TagSyntax,
} from "./read-calls.ts";
export { goesOn, isQuoted, standsApart } from "./mention.ts";
export { NOT_JSON, peekJson, readJson, type JsonRead } from "./read-json.ts";
export { Markers, type MarkGuard } from "./markers.ts";
export { parseJson } from "./parse-json.ts";
export { StreamingToolParser, type Turn } from "./streaming-parser.ts";
export { isSeparator, isSpace, letterFrom, TextSource, type Scan } from "./text-source.ts";
export { noteNumber } from "./written-numbers.ts";
