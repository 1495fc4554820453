import { open, type FileHandle } from "node:fs/promises";
import { VerlError } from "../errors/verl-error.ts";

/** A named array as it is stored: row-major, little-endian. An `NdArray` is one. */
export interface StoredArray {
  readonly dtype: "float32" | "int32" | "int64" | "uint8" | "bool";
  readonly shape: readonly number[];
  readonly data: Float32Array | Int32Array | BigInt64Array | Uint8Array;
}

/** What a safetensors file holds: arrays by name, and texts about them. */
export interface SafetensorsFile {
  arrays: Map<string, StoredArray>;
  metadata: Record<string, string>;
}

const HEADER_LENGTH_BYTES = 8;
/** The format's own limit on its JSON header. */
const MAX_HEADER_BYTES = 100_000_000;

const NAME_OF = { float32: "F32", int32: "I32", int64: "I64", uint8: "U8", bool: "BOOL" } as const;

/** How the bytes of each stored type become a typed array. Half precision widens to float32. */
const READERS: Readonly<Record<string, { bytes: number; read(bytes: ArrayBuffer): Omit<StoredArray, "shape"> }>> = {
  F32: { bytes: 4, read: (bytes) => ({ dtype: "float32", data: new Float32Array(bytes) }) },
  F16: { bytes: 2, read: (bytes) => ({ dtype: "float32", data: widen(new Uint16Array(bytes), halfBits) }) },
  BF16: {
    bytes: 2,
    read: (bytes) => ({ dtype: "float32", data: widen(new Uint16Array(bytes), (bits) => bits << 16) }),
  },
  I32: { bytes: 4, read: (bytes) => ({ dtype: "int32", data: new Int32Array(bytes) }) },
  I64: { bytes: 8, read: (bytes) => ({ dtype: "int64", data: new BigInt64Array(bytes) }) },
  U8: { bytes: 1, read: (bytes) => ({ dtype: "uint8", data: new Uint8Array(bytes) }) },
  BOOL: { bytes: 1, read: (bytes) => ({ dtype: "bool", data: new Uint8Array(bytes) }) },
};

/**
 * The bytes of a safetensors file, as pieces to be written one after another. Array pieces are views: nothing is copied.
 * Arrays keep the order of the map, so equal maps give equal bytes.
 */
export function safetensorsChunks(
  arrays: ReadonlyMap<string, StoredArray>,
  metadata: Readonly<Record<string, string>> = {},
): Uint8Array[] {
  const header: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  if (Object.keys(metadata).length > 0) header["__metadata__"] = metadata;
  const views: Uint8Array[] = [];
  let offset = 0;
  for (const [name, { dtype, shape, data }] of arrays) {
    header[name] = { dtype: NAME_OF[dtype], shape, data_offsets: [offset, offset + data.byteLength] };
    views.push(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
    offset += data.byteLength;
  }
  // Spaces pad the header so that the data starts at a multiple of eight bytes.
  const json = Buffer.from(JSON.stringify(header));
  const padded = Buffer.alloc(Math.ceil(json.length / 8) * 8, " ");
  json.copy(padded);
  const length = Buffer.alloc(HEADER_LENGTH_BYTES);
  length.writeBigUInt64LE(BigInt(padded.length));
  return [length, padded, ...views];
}

/**
 * Reads a safetensors file. Every size and offset is checked against the file before memory is taken.
 * F16 and BF16 come back as float32.
 * @param only names to read; all by default.
 * @throws VERL_SAFETENSORS_FORMAT for a broken file, an unknown element type or a name that the file lacks.
 */
export async function readSafetensors(path: string, only?: ReadonlySet<string>): Promise<SafetensorsFile> {
  const file = await open(path, "r");
  try {
    const { size } = await file.stat();
    const { entries, metadata, dataStart } = await readHeader(file, size, path);
    for (const name of only ?? []) {
      if (!entries.has(name)) throw invalid(path, `it holds no array named "${name}"`);
    }
    const arrays = new Map<string, StoredArray>();
    for (const [name, entry] of entries) {
      if (only && !only.has(name)) continue;
      const bytes = await readExactly(file, dataStart + entry.begin, entry.end - entry.begin, path);
      arrays.set(name, { ...entry.reader.read(bytes), shape: entry.shape });
    }
    return { arrays, metadata };
  } finally {
    await file.close();
  }
}

interface HeaderEntry {
  reader: (typeof READERS)[string];
  shape: number[];
  begin: number;
  end: number;
}

async function readHeader(file: FileHandle, size: number, path: string) {
  if (size < HEADER_LENGTH_BYTES) throw invalid(path, `it has ${size} bytes, fewer than the 8 of the header's length`);
  const lengthBytes = await readExactly(file, 0, HEADER_LENGTH_BYTES, path);
  const length = Number(new DataView(lengthBytes).getBigUint64(0, true));
  const dataStart = HEADER_LENGTH_BYTES + length;
  if (length > MAX_HEADER_BYTES || dataStart > size) {
    throw invalid(path, `its header claims ${length} bytes, but the file has ${size}`);
  }
  const header = parseHeader(
    Buffer.from(await readExactly(file, HEADER_LENGTH_BYTES, length, path)).toString("utf8"),
    path,
  );
  const metadata: Record<string, string> = {};
  const entries = new Map<string, HeaderEntry>();
  for (const [name, value] of Object.entries(header)) {
    if (name === "__metadata__") {
      for (const [key, text] of Object.entries(value ?? {})) metadata[key] = String(text);
    } else {
      entries.set(name, parseEntry(name, value, path));
    }
  }
  checkLayout(entries, size - dataStart, path);
  return { entries, metadata, dataStart };
}

function parseHeader(json: string, path: string): Record<string, unknown> {
  try {
    const header: unknown = JSON.parse(json);
    if (typeof header === "object" && header !== null && !Array.isArray(header))
      return header as Record<string, unknown>;
  } catch (cause) {
    throw invalid(path, "its header is not JSON", cause);
  }
  throw invalid(path, "its header is not a JSON object");
}

function parseEntry(name: string, value: unknown, path: string): HeaderEntry {
  const { dtype, shape, data_offsets: offsets } = (value ?? {}) as Record<string, unknown>;
  const reader = typeof dtype === "string" && Object.hasOwn(READERS, dtype) ? READERS[dtype] : undefined;
  if (!reader) {
    throw invalid(
      path,
      `array "${name}" has element type ${String(dtype)}; readable are ${Object.keys(READERS).join(", ")}`,
    );
  }
  if (!isIndices(shape)) throw invalid(path, `array "${name}" has no valid shape`);
  if (!isIndices(offsets) || offsets.length !== 2) throw invalid(path, `array "${name}" has no valid data_offsets`);
  const [begin, end] = offsets as [number, number];
  const bytes = shape.reduce((product, extent) => product * extent, reader.bytes);
  if (end - begin !== bytes) {
    throw invalid(
      path,
      `array "${name}" of shape [${shape.join(", ")}] needs ${bytes} bytes, its offsets give ${end - begin}`,
    );
  }
  return { reader, shape, begin, end };
}

/** Arrays must cover the data exactly, without holes or overlaps, as the format demands. */
function checkLayout(entries: ReadonlyMap<string, HeaderEntry>, dataBytes: number, path: string): void {
  let expected = 0;
  for (const [name, { begin, end }] of [...entries].sort(([, a], [, b]) => a.begin - b.begin || a.end - b.end)) {
    if (begin !== expected)
      throw invalid(path, `array "${name}" starts at byte ${begin} of the data, expected ${expected}`);
    expected = end;
  }
  if (expected !== dataBytes)
    throw invalid(path, `its arrays take ${expected} bytes, but ${dataBytes} follow the header`);
}

async function readExactly(file: FileHandle, position: number, length: number, path: string): Promise<ArrayBuffer> {
  const buffer = new ArrayBuffer(length);
  // One read call is limited to 2 GiB.
  const pieceBytes = 2 ** 30;
  for (let done = 0; done < length;) {
    const view = new Uint8Array(buffer, done, Math.min(pieceBytes, length - done));
    const { bytesRead } = await file.read(view, 0, view.length, position + done);
    if (bytesRead === 0) throw invalid(path, "it ended while being read");
    done += bytesRead;
  }
  return buffer;
}

function isIndices(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((item) => Number.isSafeInteger(item) && (item as number) >= 0);
}

/** Widens 16-bit floats by a function from their bits to the bits of the float32. */
function widen(source: Uint16Array, toBits: (bits: number) => number): Float32Array {
  const bits = new Int32Array(source.length);
  for (let i = 0; i < source.length; i++) bits[i] = toBits(source[i]!);
  return new Float32Array(bits.buffer);
}

/** float32 bits of an IEEE 754 half. */
function halfBits(half: number): number {
  const sign = (half & 0x8000) << 16;
  const exponent = (half >> 10) & 0x1f;
  const fraction = half & 0x3ff;
  if (exponent === 0x1f) return sign | 0x7f800000 | (fraction << 13);
  if (exponent > 0) return sign | ((exponent + 112) << 23) | (fraction << 13);
  if (fraction === 0) return sign;
  // A subnormal half is a normal float32: move its leading one to the hidden bit.
  const shift = Math.clz32(fraction) - 21;
  return sign | ((113 - shift) << 23) | (((fraction << shift) & 0x3ff) << 13);
}

function invalid(path: string, what: string, cause?: unknown): VerlError {
  return new VerlError("VERL_SAFETENSORS_FORMAT", `${path} is not a readable safetensors file: ${what}.`, {
    hint: "The file is damaged or incomplete. Copy it again from where it came.",
    location: { file: path },
    cause,
  });
}
