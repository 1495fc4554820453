export { ChatTemplate } from "./chat-template.ts";
export { checkRows, findLengths, findRefused, type CheckOptions } from "./check/check-data.ts";
export { findingOf, Reasons, type Finding, type Level } from "./check/finding.ts";
export type { CheckedRow } from "./check/read-prompts.ts";
export { convertRows } from "./convert/convert-rows.ts";
export { readMapping, type Mapping } from "./convert/mapping.ts";
export { readTable } from "./convert/read-table.ts";
export { collatePrompts, type CollateOptions } from "./collate.ts";
export {
  asMessages,
  asObject,
  asString,
  readTools,
  requireColumn,
  withoutNullFields,
  wrongType,
  type RowOrigin,
} from "./columns.ts";
export { loadCustomClass, requireMethods, type CustomClass, type LoadedClass } from "./custom-class.ts";
export * from "./dataset.ts";
export { DataLoader, type DataLoaderOptions, type LoadedBatch, type LoaderState } from "./loader.ts";
export { collateSft, type CollateSftOptions } from "./collate-sft.ts";
export { loadSftDataset, type LoadSftOptions, type SftDataConfig, type SftDataset } from "./sft-dataset.ts";
export { maskConversation, type SftExample } from "./loss-mask.ts";
export { packSequences } from "./packing.ts";
export { loadTokenizer, type LoadTokenizerOptions } from "./load-tokenizer.ts";
export { parseLosslessJson, stringifyLosslessJson } from "./lossless-json.ts";
export { padLeft, type PaddedPrompts } from "./padding.ts";
export { inferSchema, typeText } from "./parquet/infer-schema.ts";
export { readParquet } from "./parquet/read-parquet.ts";
export { writeParquet } from "./parquet/write-parquet.ts";
export type { ParquetSchema, ParquetType, Row } from "./parquet/parquet-type.ts";
export { withRow } from "./row-error.ts";
export { readRows } from "./read-rows.ts";
export { encodePrompt, type Prompt } from "./prompts/measure-chunk.ts";
export { maskConversations, maskHere, type Conversation, type MaskOptions } from "./prompts/mask-conversations.ts";
export { measureHere, measurePrompts, type MeasureOptions } from "./prompts/measure-prompts.ts";
export type { ChatMessage, ChatTemplateOptions, Tokenizer, TokenizerSource } from "./tokenizer.ts";
export { truncateIds } from "./truncate.ts";
