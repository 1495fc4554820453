const utf8 = new TextEncoder();

/** Writes protocol-buffer messages: varints, fixed 32-bit floats, and length-prefixed bytes, which is all that ONNX needs. */
export class ProtobufWriter {
  #bytes: Uint8Array<ArrayBuffer>;
  #length = 0;

  constructor(capacity = 1 << 16) {
    this.#bytes = new Uint8Array(capacity);
  }

  integer(field: number, value: number | bigint): void {
    this.#varint(BigInt(field) << 3n);
    this.#varint(BigInt.asUintN(64, BigInt(value)));
  }

  float(field: number, value: number): void {
    this.#tag(field, 5);
    this.#reserve(4);
    new DataView(this.#bytes.buffer).setFloat32(this.#length, value, true);
    this.#length += 4;
  }

  bytes(field: number, value: Uint8Array): void {
    this.#tag(field, 2);
    this.#small(value.length);
    this.#reserve(value.length);
    this.#bytes.set(value, this.#length);
    this.#length += value.length;
  }

  string(field: number, value: string): void {
    this.bytes(field, utf8.encode(value));
  }

  /** A nested message; its length is known only when it is done, so it is written aside first. */
  message(field: number, write: (nested: ProtobufWriter) => void): void {
    const nested = new ProtobufWriter(128);
    write(nested);
    this.bytes(field, nested.finish());
  }

  finish(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#length);
  }

  #tag(field: number, wireType: number): void {
    this.#small(field * 8 + wireType);
  }

  #small(value: number): void {
    this.#reserve(5);
    while (value >= 128) {
      this.#bytes[this.#length++] = (value & 127) | 128;
      value >>>= 7;
    }
    this.#bytes[this.#length++] = value;
  }

  #varint(value: bigint): void {
    if (value < 0x7fffffffn) return this.#small(Number(value));
    this.#reserve(10);
    while (value >= 128n) {
      this.#bytes[this.#length++] = Number(value & 127n) | 128;
      value >>= 7n;
    }
    this.#bytes[this.#length++] = Number(value);
  }

  #reserve(extra: number): void {
    if (this.#length + extra <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(2 * this.#bytes.length, this.#length + extra));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }
}
