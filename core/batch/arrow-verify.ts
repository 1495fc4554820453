import { FlatBuffer, FlatBufferError, readSize, type FlatTable } from "./flatbuffer.ts";
import { MAX_DEPTH } from "./tagged-json.ts";

/** Field numbers of the tables in Arrow's Message.fbs and Schema.fbs. */
const MESSAGE = { version: 0, headerType: 1, header: 2, bodyLength: 3, metadata: 4 } as const;
const SCHEMA = { endianness: 0, fields: 1, metadata: 2 } as const;
const FIELD = { name: 0, typeType: 2, type: 3, dictionary: 4, children: 5, metadata: 6 } as const;
const BATCH = { length: 0, nodes: 1, buffers: 2, compression: 3, variadic: 4 } as const;
const HEADER = { schema: 1, dictionary: 2, batch: 3 } as const;
/** Metadata versions V4 and V5 lay the types below out alike. */
const VERSIONS = [3, 4];
/** Arrow's numbers of the types that have a reading here; the package itself is loaded later, when a batch is read. */
const TYPE = {
  Null: 1,
  Int: 2,
  Float: 3,
  Binary: 4,
  Utf8: 5,
  Bool: 6,
  List: 12,
  Struct: 13,
  FixedSizeList: 16,
  LargeBinary: 19,
  LargeUtf8: 20,
  LargeList: 21,
} as const;

const FOOTER = { schema: 1, dictionaries: 2, batches: 3, metadata: 4 } as const;
const DICTIONARIES = "it has dictionaries, which have no reading here";

const MAGIC = "ARROW1";
const CONTINUATION = 0xffffffff;
/** Rows that columns without content may have beside what the bytes pay for. */
const FREE_VALUES = 65_536;

/** Values that are still paid for by bytes. */
interface Budget {
  values: number;
}

/** What the sizes of a column's buffers follow from. */
interface Layout {
  readonly name: string;
  readonly type: number;
  /** Bits of a value, or of an offset. */
  readonly bits: number;
  /** Values a row, of a fixed-size list. */
  readonly listSize: number;
  readonly children: readonly Layout[];
}

/** Types that have a reading here, with their number of buffers. */
const BUFFERS: Readonly<Record<number, number>> = {
  [TYPE.Null]: 0,
  [TYPE.Bool]: 2,
  [TYPE.Int]: 2,
  [TYPE.Float]: 2,
  [TYPE.Utf8]: 3,
  [TYPE.LargeUtf8]: 3,
  [TYPE.Binary]: 3,
  [TYPE.LargeBinary]: 3,
  [TYPE.List]: 2,
  [TYPE.LargeList]: 2,
  [TYPE.FixedSizeList]: 1,
  [TYPE.Struct]: 1,
};
const CHILDREN: Readonly<Record<number, number>> = { [TYPE.List]: 1, [TYPE.LargeList]: 1, [TYPE.FixedSizeList]: 1 };
const LARGE = new Set<number>([TYPE.LargeUtf8, TYPE.LargeBinary, TYPE.LargeList]);

/**
 * Checks all that the headers of an Arrow IPC stream or file claim, before a reader believes it: offsets, sizes, counts, types and
 * nesting. After it every buffer lies in its message and is as long as its column's length says, none is used twice, and all values
 * together are no more than the bytes can hold. Takes time in proportion to the headers.
 * @returns The bytes without what follows the end of a stream.
 * @throws FlatBufferError
 */
export function verifiedArrow(bytes: Uint8Array): Uint8Array {
  const budget = { values: bytes.byteLength * 8 + FREE_VALUES };
  if (Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1", 0, MAGIC.length) === MAGIC) {
    verifyFile(bytes, budget);
    return bytes;
  }
  let fields: readonly Layout[] | undefined;
  let at = 0;
  while (at < bytes.byteLength) {
    const message = messageAt(bytes, at, bytes.byteLength);
    at = message.end;
    if (message.table === undefined) break;
    fields = verifyMessage(message, fields, budget);
  }
  if (fields === undefined) throw new FlatBufferError("there is no schema");
  return bytes.subarray(0, at);
}

/** A file's footer has the schema, and the places of the record batches: blocks of 24 bytes. */
function verifyFile(bytes: Uint8Array, budget: Budget): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const tail = bytes.byteLength - MAGIC.length - 4;
  const footerAt = tail < 8 ? -1 : tail - view.getUint32(tail, true);
  if (footerAt < 8) throw new FlatBufferError("the file is cut short, or its footer is larger than the file");
  const footer = new FlatBuffer(bytes.subarray(footerAt, tail));
  const root = footer.root();
  verifyMetadata(root, FOOTER.metadata);
  const schema = root.table(FOOTER.schema);
  if (schema === undefined) throw new FlatBufferError("there is no schema");
  const fields = verifySchema(schema);
  if (root.vector(FOOTER.dictionaries, 24).length > 0) throw new FlatBufferError(DICTIONARIES);
  const blocks = root.vector(FOOTER.batches, 24);
  let end = 8;
  for (let index = 0; index < blocks.length; index++) {
    const offset = readSize(footer.view, blocks.start + 24 * index);
    if (offset < end) throw new FlatBufferError("record batches of the file overlap");
    const message = messageAt(bytes, offset, footerAt);
    if (message.table?.uint8(MESSAGE.headerType) !== HEADER.batch)
      throw new FlatBufferError("the file's footer names a record batch that is none");
    verifyMessage(message, fields, budget);
    end = message.end;
  }
}

interface Message {
  readonly header: FlatBuffer;
  /** Undefined for the mark that ends a stream. */
  readonly table: FlatTable | undefined;
  readonly body: number;
  /** Where the message ends. */
  readonly end: number;
}

/** The message at `at`, which has to end before `last`. */
function messageAt(bytes: Uint8Array, at: number, last: number): Message {
  const cut = new FlatBufferError("it ends inside of a message");
  if (at + 8 > last) throw cut;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  // Older writers leave the mark out.
  const start = at + (view.getUint32(at, true) === CONTINUATION ? 8 : 4);
  const size = view.getUint32(start - 4, true);
  if (start + size > last) throw cut;
  const header = new FlatBuffer(bytes.subarray(start, start + size));
  if (size === 0) return { header, table: undefined, body: 0, end: start };
  if ((start + size) % 8 !== 0) throw new FlatBufferError("a message does not lie on a multiple of 8");
  const table = header.root();
  const body = table.size(MESSAGE.bodyLength);
  const end = start + size + body;
  if (end > last) throw cut;
  return { header, table, body, end };
}

function verifyMessage(
  { header, table, body }: Message,
  fields: readonly Layout[] | undefined,
  budget: Budget,
): readonly Layout[] {
  const version = table!.int16(MESSAGE.version);
  if (!VERSIONS.includes(version)) throw new FlatBufferError(`its metadata have version ${version + 1}, not 4 or 5`);
  verifyMetadata(table!, MESSAGE.metadata);
  const type = table!.uint8(MESSAGE.headerType);
  const content = table!.table(MESSAGE.header);
  if (content === undefined) throw new FlatBufferError("a message is empty");
  if (type === HEADER.schema) {
    if (fields !== undefined) throw new FlatBufferError("there are two schemas");
    return verifySchema(content);
  }
  if (type === HEADER.dictionary) throw new FlatBufferError(DICTIONARIES);
  if (type !== HEADER.batch) throw new FlatBufferError(`it has a message of type ${type}`);
  if (fields === undefined) throw new FlatBufferError("there is no schema before the rows");
  new BatchVerifier(header, content, body, budget).verify(fields);
  return fields;
}

function verifySchema(schema: FlatTable): Layout[] {
  if (schema.int16(SCHEMA.endianness) !== 0) throw new FlatBufferError("it is big-endian");
  verifyMetadata(schema, SCHEMA.metadata);
  return Array.from(schema.tables(SCHEMA.fields), (field) => layoutOf(field, 0));
}

function verifyMetadata(table: FlatTable, field: number): void {
  for (const pair of table.tables(field)) {
    pair.vector(0, 1);
    pair.vector(1, 1);
  }
}

function layoutOf(field: FlatTable, depth: number): Layout {
  const name = field.text(FIELD.name);
  const fail = (why: string): FlatBufferError => new FlatBufferError(`column "${name}" ${why}`);
  if (depth > MAX_DEPTH) throw fail(`is nested deeper than ${MAX_DEPTH} levels`);
  if (field.has(FIELD.dictionary)) throw fail("has the Arrow type Dictionary, which has no reading here");
  const type = field.uint8(FIELD.typeType);
  if (BUFFERS[type] === undefined) throw fail(`has the Arrow type number ${type}, which has no reading here`);
  const details = field.table(FIELD.type);
  if (details === undefined) throw fail("has no type");
  verifyMetadata(field, FIELD.metadata);
  const children = Array.from(field.tables(FIELD.children), (child) => layoutOf(child, depth + 1));
  const wanted = CHILDREN[type] ?? (type === TYPE.Struct ? children.length : 0);
  if (children.length !== wanted) throw fail(`has ${children.length} children, not ${wanted}`);
  const bits = bitsOf(type, details);
  if (![1, 8, 16, 32, 64].includes(bits)) throw fail(`has values of ${bits} bits`);
  const listSize = type === TYPE.FixedSizeList ? details.int32(0) : 0;
  if (listSize < 0) throw fail(`has lists of ${listSize} items`);
  return { name, type, bits, listSize, children };
}

/** Half floats, precision 0, have no reading. */
const FLOAT_BITS = [0, 32, 64];

function bitsOf(type: number, details: FlatTable): number {
  if (type === TYPE.Int) return details.int32(0);
  if (type === TYPE.Float) return FLOAT_BITS[details.int16(0)] ?? 0;
  if (type === TYPE.Bool) return 1;
  return LARGE.has(type) ? 64 : 32;
}

/** One record batch: nodes and buffers are used up column by column, in the order of the schema. */
class BatchVerifier {
  #node: number;
  #nodesLeft: number;
  #buffer: number;
  #buffersLeft: number;
  /** Where the last buffer with content ended. */
  #end = 0;

  constructor(
    private readonly header: FlatBuffer,
    private readonly batch: FlatTable,
    private readonly body: number,
    private readonly budget: Budget,
  ) {
    const nodes = batch.vector(BATCH.nodes, 16);
    const buffers = batch.vector(BATCH.buffers, 16);
    [this.#node, this.#nodesLeft] = [nodes.start, nodes.length];
    [this.#buffer, this.#buffersLeft] = [buffers.start, buffers.length];
  }

  verify(fields: readonly Layout[]): void {
    if (this.batch.has(BATCH.compression)) throw new FlatBufferError("it is compressed");
    if (this.batch.vector(BATCH.variadic, 8).length > 0) throw new FlatBufferError("it has views of text");
    const rows = this.batch.size(BATCH.length);
    for (const field of fields) {
      const length = this.#column(field);
      if (length !== rows) throw new FlatBufferError(`column "${field.name}" has ${length} of ${rows} rows`);
    }
    if (fields.length === 0 && rows > this.budget.values) throw new FlatBufferError(`it has ${rows} rows of nothing`);
    if (this.#nodesLeft > 0 || this.#buffersLeft > 0)
      throw new FlatBufferError("it has buffers that belong to no column");
  }

  /** @returns The column's length. */
  #column(layout: Layout): number {
    const { name, type, bits, listSize, children } = layout;
    const fail = (why: string): FlatBufferError => new FlatBufferError(`column "${name}" ${why}`);
    if (this.#nodesLeft-- === 0) throw fail("is missing");
    const { view } = this.header;
    const length = readSize(view, this.#node);
    const nulls = readSize(view, this.#node + 8);
    this.#node += 16;
    this.budget.values -= length;
    if (this.budget.values < 0) throw fail(`claims ${length} values, more than the bytes can hold`);
    if (nulls > length) throw fail(`has ${nulls} nulls among ${length} values`);

    const [validity = 0, ...sizes] = Array.from({ length: BUFFERS[type]! }, () => this.#nextBuffer(fail));
    if (type !== TYPE.Null && nulls > 0 && validity * 8 < length) throw fail("is cut short");
    // Arrow allows a column of no rows to leave its offsets out.
    const offsets = type !== TYPE.Bool && type !== TYPE.Int && type !== TYPE.Float;
    const wanted = offsets ? (length === 0 ? 0 : (length + 1) * bits) : length * bits;
    if (sizes.length > 0 && sizes[0]! * 8 < wanted) throw fail("is cut short");

    for (const child of children) {
      const items = this.#column(child);
      if (type === TYPE.Struct && items !== length) throw fail("has members of different lengths");
      if (type === TYPE.FixedSizeList && items < length * listSize) throw fail("is cut short");
    }
    return length;
  }

  /** @returns The size of the next buffer. */
  #nextBuffer(fail: (why: string) => FlatBufferError): number {
    if (this.#buffersLeft-- === 0) throw fail("has too few buffers");
    const offset = readSize(this.header.view, this.#buffer);
    const size = readSize(this.header.view, this.#buffer + 8);
    this.#buffer += 16;
    if (size === 0) return 0;
    if (offset % 8 !== 0) throw fail("does not lie on a multiple of 8");
    if (offset < this.#end || offset + size > this.body) throw fail("has a buffer outside of its place");
    this.#end = offset + size;
    return size;
  }
}
