import type { ColumnMetaData, Encoding, PageHeader, ParquetParsers, SchemaTree } from "hyparquet";
import { parquetHeader } from "hyparquet/src/column.js";
import { convertWithDictionary, DEFAULT_PARSERS, type convert } from "hyparquet/src/convert.js";
import { decompressPage, readDataPage } from "hyparquet/src/datapage.js";
import { readRleBitPackedHybrid } from "hyparquet/src/encoding.js";
import { getMaxDefinitionLevel, getMaxRepetitionLevel } from "hyparquet/src/schema.js";
import { compressors } from "hyparquet-compressors";
import { parseLosslessJson } from "../lossless-json.ts";
import { readPlainStrings } from "./plain-strings.ts";

/** One leaf column of a row group as parquet has it: values without nulls, and the levels that say where they belong. */
export interface LeafColumn {
  values: ArrayLike<unknown>;
  /** How much of the path is there, one an entry; undefined: all of it, always. */
  definitions: Uint8Array | undefined;
  /** Which list goes on, one an entry; undefined: the path has no list. */
  repetitions: Uint8Array | undefined;
  maxDefinition: number;
  entries: number;
}

type Decoder = Parameters<typeof convert>[1];

const utf8 = new TextDecoder();

/** hyparquet's, with integers beyond 2^53 kept in JSON columns. */
export const PARSERS: ParquetParsers = {
  ...DEFAULT_PARSERS,
  jsonFromBytes: (bytes: Uint8Array | undefined) => bytes && parseLosslessJson(utf8.decode(bytes)),
};

/** Bytes of any kind, such as images: those of text say so. */
const isBytes = ({ converted_type, logical_type }: SchemaTree["element"]): boolean =>
  converted_type === undefined && logical_type === undefined;

/** Decodes a column chunk. @param path schema elements from the root to the leaf. */
export function readLeafColumn(chunk: ArrayBuffer, column: ColumnMetaData, path: SchemaTree[]): LeafColumn {
  const { element } = path.at(-1)!;
  const decoder: Decoder = {
    pathInSchema: column.path_in_schema,
    type: column.type,
    element,
    schemaPath: path,
    codec: column.codec,
    parsers: PARSERS,
    utf8: !isBytes(element),
    compressors,
  };
  const entries = Number(column.num_values);
  const maxDefinition = getMaxDefinitionLevel(path);
  const maxRepetition = getMaxRepetitionLevel(path);
  const definitions = maxDefinition > 0 ? new Uint8Array(entries) : undefined;
  const repetitions = maxRepetition > 0 ? new Uint8Array(entries) : undefined;
  const parts: ArrayLike<unknown>[] = [];
  let dictionary: ArrayLike<unknown> | undefined;
  const reader = { view: new DataView(chunk), offset: 0 };
  let done = 0;
  while (done < entries && reader.offset < chunk.byteLength - 1) {
    const header = parquetHeader(reader);
    const bytes = new Uint8Array(chunk, reader.offset, header.compressed_page_size);
    reader.offset += header.compressed_page_size;
    if (header.dictionary_page_header !== undefined) {
      const page = plainBytes(bytes, header.uncompressed_page_size, decoder);
      dictionary = decode(page, header.dictionary_page_header.num_values, "PLAIN", decoder, undefined);
      continue;
    }
    const page = openPage(bytes, header, decoder);
    const target = (levels: Uint8Array | undefined): Uint8Array | undefined =>
      levels?.subarray(done, done + page.entries);
    page.readLevels(target(repetitions), maxRepetition, target(definitions), maxDefinition);
    const present = definitions ? count(target(definitions)!, maxDefinition) : page.entries;
    parts.push(decode(page.values(), present, page.encoding, decoder, dictionary));
    done += page.entries;
  }
  if (done !== entries)
    throw new Error(`column ${column.path_in_schema.join(".")} ends after ${done} of ${entries} values`);
  return { values: parts.length === 1 ? parts[0]! : join(parts), definitions, repetitions, maxDefinition, entries };
}

interface Page {
  entries: number;
  encoding: Encoding;
  /** Fills the levels in; to be called once, before `values`. */
  readLevels(
    repetitions: Uint8Array | undefined,
    maxRepetition: number,
    definitions: Uint8Array | undefined,
    maxDefinition: number,
  ): void;
  /** The bytes after the levels. */
  values(): Uint8Array;
}

/** Decompresses; what holds nothing is left alone, since some codecs accept no empty page. */
function plainBytes(bytes: Uint8Array, size: number, { codec }: Decoder): Uint8Array {
  return size === 0 ? new Uint8Array(0) : decompressPage(bytes, size, codec, compressors);
}

/** The two layouts of a data page differ in where the levels' lengths are and in what is compressed. */
function openPage(bytes: Uint8Array, header: PageHeader, decoder: Decoder): Page {
  const { data_page_header: v1, data_page_header_v2: v2, uncompressed_page_size: size } = header;
  if (v1) {
    const page = plainBytes(bytes, size, decoder);
    const reader = { view: viewOf(page), offset: 0 };
    return {
      entries: v1.num_values,
      encoding: v1.encoding,
      readLevels(repetitions, maxRepetition, definitions, maxDefinition) {
        if (repetitions) readRleBitPackedHybrid(reader, bitWidth(maxRepetition), repetitions);
        if (definitions) readRleBitPackedHybrid(reader, bitWidth(maxDefinition), definitions);
      },
      values: () => page.subarray(reader.offset),
    };
  }
  if (!v2) throw new Error(`parquet page of type ${header.type} where data was expected`);
  const { repetition_levels_byte_length: first, definition_levels_byte_length: second } = v2;
  return {
    entries: v2.num_values,
    encoding: v2.encoding,
    readLevels(repetitions, maxRepetition, definitions, maxDefinition) {
      const reader = { view: viewOf(bytes), offset: 0 };
      if (repetitions) readRleBitPackedHybrid(reader, bitWidth(maxRepetition), repetitions, first);
      reader.offset = first;
      if (definitions) readRleBitPackedHybrid(reader, bitWidth(maxDefinition), definitions, second);
    },
    values() {
      const rest = bytes.subarray(first + second);
      return v2.is_compressed === false ? rest : plainBytes(rest, size - first - second, decoder);
    },
  };
}

/** Values of a page, dictionaries looked up, 64-bit integers as numbers where a number holds them. */
function decode(
  bytes: Uint8Array,
  count: number,
  encoding: Encoding,
  decoder: Decoder,
  dictionary: ArrayLike<unknown> | undefined,
): ArrayLike<unknown> {
  const { type, element } = decoder;
  const isText = type === "BYTE_ARRAY" && (element.converted_type ?? element.logical_type?.type);
  if (encoding === "PLAIN" && (isText === "UTF8" || isText === "STRING")) return readPlainStrings(bytes, count);
  // Levels are read already: without a path the package looks for none.
  const header = {
    num_values: count,
    encoding,
    definition_level_encoding: "RLE",
    repetition_level_encoding: "RLE",
  } as const;
  const { dataPage } = readDataPage(bytes, header, { ...decoder, schemaPath: [] });
  if (dictionary !== undefined && encoding.endsWith("_DICTIONARY")) {
    return mapped(dataPage as ArrayLike<number>, (index) => dictionary[index]);
  }
  const values = convertWithDictionary(dataPage, undefined, encoding, decoder) as ArrayLike<unknown>;
  // Each on its own: one that is kept, or sent to a thread, takes no page along.
  return values[0] instanceof Uint8Array
    ? mapped(values as ArrayLike<Uint8Array>, (value) => value.slice())
    : narrow(values);
}

/** 64-bit integers as numbers up to ±2^53 − 1, as bigints beyond. */
function narrow(values: ArrayLike<unknown>): ArrayLike<unknown> {
  if (!(values instanceof BigInt64Array || values instanceof BigUint64Array)) {
    return typeof values[0] === "bigint" ? mapped(values, narrowOne) : values;
  }
  return mapped<unknown>(values, narrowOne);
}

/** `Array.from` goes through an iterator, at several times the cost. */
function mapped<T>(values: ArrayLike<T>, map: (value: T) => unknown): unknown[] {
  const all = new Array<unknown>(values.length);
  for (let i = 0; i < all.length; i += 1) all[i] = map(values[i]!);
  return all;
}

function narrowOne(value: unknown): unknown {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

function join(parts: readonly ArrayLike<unknown>[]): unknown[] {
  const all = new Array<unknown>(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) for (let i = 0; i < part.length; i += 1) all[at++] = part[i];
  return all;
}

function count(levels: Uint8Array, level: number): number {
  let found = 0;
  for (let i = 0; i < levels.length; i += 1) if (levels[i] === level) found += 1;
  return found;
}

const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array): DataView =>
  new DataView(buffer, byteOffset, byteLength);

const bitWidth = (value: number): number => 32 - Math.clz32(value);
