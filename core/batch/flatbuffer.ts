/** Says what is wrong with bytes that claim to be a flatbuffer. */
export class FlatBufferError extends Error {}

/** A vector's elements lie at `start`, one every `width` bytes, all inside of the buffer. */
export interface FlatVector {
  readonly start: number;
  readonly length: number;
}

/**
 * A reader of flatbuffers from strangers. Every offset is checked before it is followed, where the reader that comes with Arrow takes
 * what lies outside for zeros. Tables and text may be shared inside of a buffer, so that few bytes unfold to many: what is visited
 * is bounded by the buffer's size.
 */
export class FlatBuffer {
  readonly view: DataView;
  #left: number;

  constructor(bytes: Uint8Array) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#left = bytes.byteLength * 2;
  }

  root(): FlatTable {
    return this.table(0);
  }

  /** The table that the offset at `position` leads to. */
  table(position: number): FlatTable {
    return new FlatTable(this, this.follow(position));
  }

  /** Where the 32-bit offset at `position` leads. */
  follow(position: number): number {
    this.check(position, 4);
    const target = position + this.view.getUint32(position, true);
    this.check(target, 4);
    return target;
  }

  /** Counts what is read, each byte twice at most on average. */
  spend(bytes: number): void {
    this.#left -= bytes;
    if (this.#left < 0) throw new FlatBufferError("parts of its header are used over and over");
  }

  check(start: number, length: number): void {
    if (start < 0 || start + length > this.view.byteLength)
      throw new FlatBufferError("its header points outside of itself");
  }
}

/** One table; fields are numbered as in the flatbuffer's schema. */
export class FlatTable {
  readonly #vtable: number;
  readonly #slots: number;

  constructor(
    private readonly buffer: FlatBuffer,
    private readonly at: number,
  ) {
    const { view } = buffer;
    this.#vtable = at - view.getInt32(at, true);
    buffer.check(this.#vtable, 4);
    const size = view.getUint16(this.#vtable, true);
    if (size < 4) throw new FlatBufferError("a table of its header has no fields' places");
    buffer.check(this.#vtable, size);
    // A table has at least its offset to the vtable.
    buffer.spend(4);
    this.#slots = (size - 4) >> 1;
  }

  /** Whether the field is there, or left at its default. */
  has(field: number): boolean {
    return this.#place(field, 0) !== undefined;
  }

  uint8(field: number): number {
    const at = this.#place(field, 1);
    return at === undefined ? 0 : this.buffer.view.getUint8(at);
  }

  int16(field: number): number {
    const at = this.#place(field, 2);
    return at === undefined ? 0 : this.buffer.view.getInt16(at, true);
  }

  int32(field: number): number {
    const at = this.#place(field, 4);
    return at === undefined ? 0 : this.buffer.view.getInt32(at, true);
  }

  /** A size or a count. */
  size(field: number): number {
    const at = this.#place(field, 8);
    return at === undefined ? 0 : readSize(this.buffer.view, at);
  }

  table(field: number): FlatTable | undefined {
    const at = this.#place(field, 4);
    return at === undefined ? undefined : this.buffer.table(at);
  }

  /** The tables of a vector of tables, each checked when it is come to. */
  *tables(field: number): Generator<FlatTable> {
    const { start, length } = this.vector(field, 4);
    for (let index = 0; index < length; index++) yield this.buffer.table(start + 4 * index);
  }

  /** A vector of numbers or structs of `width` bytes. */
  vector(field: number, width: number): FlatVector {
    const at = this.#place(field, 4);
    if (at === undefined) return { start: 0, length: 0 };
    const start = this.buffer.follow(at) + 4;
    const length = this.buffer.view.getUint32(start - 4, true);
    this.buffer.check(start, length * width);
    this.buffer.spend(length * width);
    return { start, length };
  }

  /** Text; empty when it is left out. */
  text(field: number): string {
    const { start, length } = this.vector(field, 1);
    const { buffer, byteOffset } = this.buffer.view;
    return Buffer.from(buffer, byteOffset + start, length).toString("utf8");
  }

  #place(field: number, width: number): number | undefined {
    if (field >= this.#slots) return undefined;
    const offset = this.buffer.view.getUint16(this.#vtable + 4 + 2 * field, true);
    if (offset === 0) return undefined;
    this.buffer.check(this.at + offset, width);
    return this.at + offset;
  }
}

/** A 64-bit size at `at`, which has to be a natural number that JavaScript knows exactly. */
export function readSize(view: DataView, at: number): number {
  const value = view.getBigInt64(at, true);
  if (value < 0n || value > BigInt(Number.MAX_SAFE_INTEGER)) throw new FlatBufferError(`a size is ${value}`);
  return Number(value);
}
