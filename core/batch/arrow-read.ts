import { RecordBatchReader, type Data, type RecordBatch, type Schema } from "apache-arrow";
import { isVerlError, VerlError } from "../errors/verl-error.ts";
import { reasonOf } from "../errors/reason-of.ts";
import { verifiedArrow } from "./arrow-verify.ts";
import { META_INFO, ROWS, tensorOf } from "./arrow-format.ts";
import { decodeColumn } from "./arrow-decode.ts";
import type { MetaInfo } from "./meta-info.ts";
import { NdArray, type DType, type DTypeArrays } from "./nd-array.ts";
import type { Column } from "./parts.ts";
import { fromTaggedJson } from "./tagged-json.ts";

export interface ArrowParts {
  batch: Map<string, NdArray>;
  nonTensorBatch: Map<string, Column>;
  metaInfo: MetaInfo;
}

/** The record batches of an Arrow IPC stream or file. What the headers claim of the contents is checked before it is used. */
export function readArrow(bytes: Uint8Array): ArrowParts[] {
  try {
    const reader = RecordBatchReader.from(verifiedArrow(aligned(bytes))).open();
    // Reading to the end closes the reader, which forgets its schema.
    const schema = reader.schema as Schema | undefined;
    if (!schema) throw corrupt("there is no schema");
    const { metadata } = schema;
    const meta = metadata.get(META_INFO);
    const metaInfo = meta === undefined ? {} : (fromTaggedJson(meta) as MetaInfo);
    const batches = Array.from(reader as Iterable<RecordBatch>);
    // One field is one kind in every record batch: with a null anywhere it is a column of values.
    const withNulls = (i: number): boolean => batches.some((batch) => batch.data.children[i]!.nullCount > 0);
    const tensors = schema.fields.map((field, i) => (withNulls(i) ? undefined : tensorOf(field)));
    const parts = batches.map((batch) => readRecordBatch(batch, tensors, metaInfo, bytes.byteLength));
    const rows = batches.reduce((sum, batch) => sum + batch.numRows, 0);
    const promised = metadata.get(ROWS);
    if (promised !== undefined && Number(promised) !== rows)
      throw corrupt(`${promised} rows were written, but ${rows} are there`);
    return parts;
  } catch (error) {
    throw isVerlError(error) ? error : corrupt(reasonOf(error), error);
  }
}

function readRecordBatch(
  batch: RecordBatch,
  tensors: readonly ReturnType<typeof tensorOf>[],
  metaInfo: MetaInfo,
  byteLength: number,
): ArrowParts {
  const fields = new Map<string, NdArray>();
  const columns = new Map<string, Column>();
  // A column takes at least a bit a row, but for those without content.
  const maxLength = byteLength * 8 + 65_536;
  batch.schema.fields.forEach((field, i) => {
    const data = batch.data.children[i]!;
    if (data.length !== batch.numRows)
      throw corrupt(`column "${field.name}" has ${data.length} of ${batch.numRows} rows`);
    if (data.length > maxLength) throw corrupt(`${data.length} rows cannot lie in ${byteLength} bytes`);
    const tensor = tensors[i];
    if (tensor) fields.set(field.name, readTensor(tensor.dtype, [data.length, ...tensor.rowShape], data));
    else columns.set(field.name, decodeColumn(field, data, maxLength));
  });
  return { batch: fields, nonTensorBatch: columns, metaInfo };
}

/** A view; NdArray checks that the elements are as many as the shape says. */
function readTensor<D extends DType>(dtype: D, shape: readonly number[], data: Data): NdArray<D> {
  const flat = data.children[0] ?? data;
  const values = flat.values as Uint8Array;
  return new NdArray(dtype, shape, values.subarray(0, flat.length) as DTypeArrays[D]);
}

/** Arrow lays buffers on multiples of 8 from the start, so views need a start on such a multiple. */
function aligned(bytes: Uint8Array): Uint8Array {
  return bytes.byteOffset % 8 === 0 ? bytes : bytes.slice();
}

function corrupt(why: string, cause?: unknown): VerlError {
  return new VerlError("VERL_BATCH_ARROW", `The bytes are not an Arrow stream of a batch: ${why.replace(/\.$/, "")}.`, {
    hint: "They must be whole, and as toArrow() or another Arrow writer made them, without compression.",
    cause,
  });
}
