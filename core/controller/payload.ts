import { arrowPieces } from "../batch/arrow-write.ts";
import { DataProto } from "../batch/data-proto.ts";
import { isNdArray, NdArray, type DType } from "../batch/nd-array.ts";
import { fromTagged, toTagged } from "../batch/tagged-json.ts";
import { isVerlError, VerlError } from "../errors/index.ts";
import { reasonOf } from "../errors/reason-of.ts";
import { Listener } from "./listener.ts";
import type { Lent } from "./rank-channel.ts";
import type { Packed } from "./rank-protocol.ts";

/** What stays in touch with the other side: arguments of a call may hold them. */
export type Live = AbortSignal | Listener;

/** Gives the signals and listeners that cross a number, and a number what stands for them on the other side. */
export interface LiveBridge {
  numberOf(live: Live): number;
  signalOf(number: number): AbortSignal;
  listenerOf(number: number): Listener;
}

const refuse = (): never => {
  throw new VerlError("VERL_CONTROLLER_PROTOCOL", "A message holds an abort signal or a listener where there is none.");
};

/** For what carries none: results, constructor arguments, and what a listener is told. */
export const nothingLive: LiveBridge = { numberOf: refuse, signalOf: refuse, listenerOf: refuse };

const ARRAYS = { Float32Array, Float64Array, Int32Array, BigInt64Array, Uint8Array };
type ArrayName = keyof typeof ARRAYS;

/**
 * Turns arguments or a result to JSON data and bytes: batches to Arrow streams, `NdArray`s and typed arrays to their bytes, `Map`s to
 * lists of pairs, abort signals and listeners to numbers, the rest to tagged JSON. Blobs are views of the value's own memory.
 * @param where for messages: `an argument of actor.updateActor`.
 * @throws VERL_WORKER_PAYLOAD for functions, and instances of other classes.
 */
export function pack(value: unknown, where: string, live: LiveBridge): { packed: Packed; blobs: Lent[] } {
  const blobs: Lent[] = [];
  const blob = (bytes: Lent): number => blobs.push(bytes) - 1;
  const own = (item: unknown, tag: (inner: unknown) => unknown): { $: string; value: unknown } | undefined => {
    if (typeof item !== "object" || item === null) return undefined;
    if (item instanceof DataProto) return { $: "DataProto", value: blob(batchPieces(item)) };
    if (isNdArray(item)) return { $: "NdArray", value: [item.dtype, item.shape, blob(bytesOf(item.data))] };
    if (ArrayBuffer.isView(item)) {
      const name = arrayName(item);
      return name && { $: `bytes:${name}`, value: blob(bytesOf(item)) };
    }
    if (item instanceof Map) return { $: "Map", value: Array.from(item, ([key, held]) => [tag(key), tag(held)]) };
    const kind = item instanceof AbortSignal ? "AbortSignal" : item instanceof Listener ? "Listener" : undefined;
    if (kind !== undefined) {
      const an = kind === "Listener" ? "a" : "an";
      if (live === nothingLive)
        throw cannotCross(`${where} holds ${an} ${kind}, which only arguments of a call may hold.`);
      return { $: kind, value: live.numberOf(item as Live) };
    }
    return undefined;
  };
  try {
    return { packed: toTagged(value, where, own), blobs };
  } catch (error) {
    if (!isVerlError(error) || error.code === "VERL_WORKER_PAYLOAD") throw error;
    throw cannotCross(error.message, live === nothingLive ? "" : "AbortSignal, Listener, ", error);
  }
}

/** The bytes of a batch; what it holds that none may is said with the hint of batches, which hold less than a call does. */
function batchPieces(batch: DataProto): Lent {
  try {
    return arrowPieces(batch);
  } catch (cause) {
    if (!isVerlError(cause)) throw cause;
    throw new VerlError("VERL_WORKER_PAYLOAD", cause.message, { hint: cause.hint, cause });
  }
}

const cannotCross = (message: string, alive = "", cause?: VerlError): VerlError =>
  new VerlError("VERL_WORKER_PAYLOAD", message, {
    hint: `What crosses to another thread or process here is a DataProto, NdArray, typed array, Map, ${alive}or plain JSON data of these.`,
    cause,
  });

/** The inverse of `pack`. Arrays and batches are views of the blobs, which nobody else must hold. @throws VERL_CONTROLLER_PROTOCOL */
export function unpack(packed: Packed, blobs: readonly Uint8Array[], live: LiveBridge): unknown {
  const blob = (index: unknown): Uint8Array => {
    const bytes = typeof index === "number" ? blobs[index] : undefined;
    if (!bytes) throw new TypeError(`There is no blob ${String(index)} among ${blobs.length}.`);
    return bytes.byteOffset % 8 === 0 ? bytes : bytes.slice();
  };
  const own = (type: string, value: unknown, untag: (inner: unknown) => unknown): unknown => {
    if (type === "DataProto") return DataProto.fromArrow(blob(value));
    if (type === "NdArray") {
      const [dtype, shape, index] = value as [DType, number[], number];
      const name = ARRAY_OF_DTYPE[dtype];
      if (name === undefined) throw new TypeError(`There is no dtype ${String(dtype)}.`);
      return new NdArray(dtype, shape, arrayOf(name, blob(index)) as Float32Array);
    }
    if (type.startsWith("bytes:")) return arrayOf(type.slice("bytes:".length), blob(value));
    if (type === "Map") return new Map(untag(value) as [unknown, unknown][]);
    if (type === "AbortSignal") return live.signalOf(value as number);
    if (type === "Listener") return live.listenerOf(value as number);
    return undefined;
  };
  try {
    return fromTagged(packed, own);
  } catch (cause) {
    if (isVerlError(cause)) throw cause;
    const reason = reasonOf(cause);
    throw new VerlError("VERL_CONTROLLER_PROTOCOL", `A message of a worker call cannot be read: ${reason}`, { cause });
  }
}

const ARRAY_OF_DTYPE: Readonly<Record<string, ArrayName>> = {
  float32: "Float32Array",
  int32: "Int32Array",
  int64: "BigInt64Array",
  uint8: "Uint8Array",
  bool: "Uint8Array",
};

const arrayName = (value: ArrayBufferView): ArrayName | undefined =>
  (Object.keys(ARRAYS) as ArrayName[]).find((name) => value instanceof ARRAYS[name]);

const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

/** Lent bytes in memory of their own, for a channel that gives memory away. */
export function copyOf(lent: Lent): Uint8Array {
  const pieces = lent instanceof Uint8Array ? [lent] : lent;
  const { data: bytes } = NdArray.unwritten("uint8", [pieces.reduce((sum, { byteLength }) => sum + byteLength, 0)]);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.byteLength;
  }
  return bytes;
}

function arrayOf(name: string, bytes: Uint8Array): unknown {
  if (!Object.hasOwn(ARRAYS, name)) throw new TypeError(`There is no array type ${name}.`);
  const Type = ARRAYS[name as ArrayName];
  if (bytes.byteLength % Type.BYTES_PER_ELEMENT !== 0) {
    throw new TypeError(`${bytes.byteLength} bytes do not make a ${name}.`);
  }
  return new Type(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength / Type.BYTES_PER_ELEMENT);
}
