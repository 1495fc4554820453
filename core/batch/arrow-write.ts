import type { Field } from "apache-arrow";
import { Data, makeData, RecordBatch, RecordBatchStreamWriter, Schema, Struct, type DataType } from "apache-arrow";
import { VerlError } from "../errors/verl-error.ts";
import { META_INFO, ROWS, tensorField } from "./arrow-format.ts";
import { encodeColumn, isFieldName } from "./arrow-values.ts";
import type { DataProto } from "./data-proto.ts";
import type { NdArray } from "./nd-array.ts";
import { allKeys } from "./parts.ts";
import { toTaggedJson } from "./tagged-json.ts";

/** Arrow's JavaScript writer counts a buffer's bytes in 32 bits. */
const MAX_FIELD_BYTES = 2 ** 31 - 8;

/** The stream's pieces, not copied, so that each byte is copied once, to where it ends up. */
function piecesOf(batch: RecordBatch): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  // No subclass, which would load Arrow with this file.
  const writer = Object.assign(new RecordBatchStreamWriter(), {
    _write(piece: ArrayBufferView) {
      if (piece.byteLength > 0) pieces.push(new Uint8Array(piece.buffer, piece.byteOffset, piece.byteLength));
      return writer;
    },
  });
  writer.write(batch);
  writer.finish();
  return pieces;
}

/** The batch as one Arrow IPC stream with one record batch; in `into` when that is large enough. */
export function writeArrow(batch: DataProto, into?: Uint8Array): Uint8Array {
  return join(arrowPieces(batch), into);
}

/** The same stream in pieces; those of tensors are views of the batch's own memory. */
export function arrowPieces(batch: DataProto): Uint8Array[] {
  const nameless = allKeys(batch).find((key) => !isFieldName(key));
  if (nameless !== undefined) {
    throw new VerlError("VERL_BATCH_ARROW", `${JSON.stringify(nameless)} is no name for an Arrow field.`, {
      hint: "rename() it to text that is not empty and is valid Unicode.",
    });
  }
  const columns = [
    ...Array.from(batch.batch, ([key, array]) => tensorColumn(key, array)),
    ...Array.from(batch.nonTensorBatch, ([key, values]) => encodeColumn(key, values)),
  ];
  const metadata = new Map([
    [META_INFO, toTaggedJson(batch.metaInfo, "metaInfo")],
    [ROWS, String(batch.length)],
  ]);
  const schema = new Schema(
    columns.map(({ field }) => field),
    metadata,
  );
  const children = columns.map(({ data }) => data);
  const data = makeData({ type: new Struct(schema.fields), length: batch.length, nullCount: 0, children });
  return piecesOf(new RecordBatch(schema, data));
}

function tensorColumn(key: string, array: NdArray): { field: Field; data: Data } {
  if (array.data.byteLength > MAX_FIELD_BYTES) {
    throw new VerlError(
      "VERL_BATCH_ARROW",
      `Field "${key}" has ${array.data.byteLength} bytes; an Arrow field holds at most 2 GB.`,
      {
        hint: "chunk() the batch first.",
      },
    );
  }
  const field = tensorField(key, array.dtype, array.rowShape);
  const child = (field.type.children as Field<DataType>[] | null)?.[0];
  const values = (type: DataType): Data => new Data(type, 0, array.data.length, 0, { 1: array.data } as never);
  if (!child) return { field, data: values(field.type) };
  return { field, data: new Data(field.type, 0, array.rows, 0, {}, [values(child.type)]) };
}

function join(pieces: readonly Uint8Array[], into: Uint8Array | undefined): Uint8Array {
  const size = pieces.reduce((sum, piece) => sum + piece.byteLength, 0);
  const bytes = into && into.byteLength >= size ? into.subarray(0, size) : new Uint8Array(size);
  let offset = 0;
  for (const piece of pieces) {
    bytes.set(piece, offset);
    offset += piece.byteLength;
  }
  return bytes;
}
