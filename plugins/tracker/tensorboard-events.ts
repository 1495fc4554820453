/*
 * TensorBoard's files by hand: TFRecord frames around protobuf `Event` messages. Field numbers are those of TensorFlow's
 * event.proto and summary.proto.
 */

const POLYNOMIAL = 0x82f63b78;
const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1;
  return crc;
});

/** CRC-32C (Castagnoli); `zlib.crc32` is another polynomial. */
export function crc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = CRC_TABLE[(crc ^ byte) & 0xff]! ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** One TFRecord: length, its masked CRC, the data, its masked CRC. */
export function tfRecord(data: Uint8Array): Uint8Array {
  const record = Buffer.alloc(data.length + 16);
  record.writeBigUInt64LE(BigInt(data.length), 0);
  record.writeUInt32LE(maskedCrc(record.subarray(0, 8)), 8);
  record.set(data, 12);
  record.writeUInt32LE(maskedCrc(data), 12 + data.length);
  return record;
}

/** The first event of every file. */
export function versionEvent(seconds: number): Uint8Array {
  return Buffer.concat([double(1, seconds), bytes(3, Buffer.from("brain.Event:2"))]);
}

/** Says that a process begins at `step`: readers drop what an earlier one logged from there on. */
export function startEvent(seconds: number, step: number): Uint8Array {
  return Buffer.concat([double(1, seconds), varint(2, step), bytes(7, varint(1, 1))]);
}

export function scalarsEvent(seconds: number, step: number, scalars: Readonly<Record<string, number>>): Uint8Array {
  const values = Object.entries(scalars).map(([tag, value]) =>
    bytes(1, Buffer.concat([bytes(1, Buffer.from(tag)), float(2, value)])),
  );
  return Buffer.concat([double(1, seconds), varint(2, step), bytes(5, Buffer.concat(values))]);
}

function maskedCrc(data: Uint8Array): number {
  const crc = crc32c(data);
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}

/** Protobuf fields: the key (number and wire type), then the value. */
function varint(field: number, value: number): Buffer {
  return Buffer.concat([base128((field << 3) | 0), base128(value)]);
}

function double(field: number, value: number): Buffer {
  const buffer = Buffer.alloc(9);
  buffer[0] = (field << 3) | 1;
  buffer.writeDoubleLE(value, 1);
  return buffer;
}

function bytes(field: number, value: Uint8Array): Buffer {
  return Buffer.concat([base128((field << 3) | 2), base128(value.length), value]);
}

function float(field: number, value: number): Buffer {
  const buffer = Buffer.alloc(5);
  buffer[0] = (field << 3) | 5;
  buffer.writeFloatLE(value, 1);
  return buffer;
}

/** Seven bits a byte, the lowest first; for integers from 0 to 2^53. */
function base128(value: number): Buffer {
  const result: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) result.push((rest % 0x80) | 0x80);
  return Buffer.from([...result, rest]);
}
