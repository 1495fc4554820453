import { DataType, Precision, Type, type Data, type Field } from "apache-arrow";
import { VerlError } from "../errors/verl-error.ts";
import { STORED_AS } from "./arrow-format.ts";
import { fromTaggedJson, typedName } from "./tagged-json.ts";

/**
 * The values of an Arrow column, one a row, as `encodeColumn` got them; other writers' columns too, where the type is one of null,
 * bool, int, float, utf8, binary, list, fixed-size list or struct. Lengths are checked, so that small bytes cannot make large values.
 */
export function decodeColumn(field: Field, data: Data, maxLength: number): unknown[] {
  const { type, length } = data;
  if (length > maxLength) throw unreadable(field, `claims ${length} values`);
  const values = decodeDense(field, type, data, maxLength);
  if (data.nullCount === 0) return values;
  return values.map((value, row) => (data.getValid(row) ? value : null));
}

function decodeDense(field: Field, type: DataType, data: Data, maxLength: number): unknown[] {
  const { length } = data;
  // Writers may leave out the buffers of a column without rows.
  if (length === 0) return [];
  const stored = field.metadata.get(STORED_AS);
  if (DataType.isNull(type)) return new Array<unknown>(length).fill(null);
  if (DataType.isBool(type)) {
    const bits = data.values as Uint8Array;
    if (bits.length * 8 < length) throw unreadable(field, "is cut short");
    return Array.from({ length }, (_, row) => ((bits[row >> 3]! >> (row & 7)) & 1) === 1);
  }
  if (DataType.isInt(type) || (DataType.isFloat(type) && type.precision !== Precision.HALF)) {
    const numbers = data.values as Float64Array;
    if (numbers.length < length) throw unreadable(field, "is cut short");
    return Array.from(numbers.subarray(0, length));
  }
  if (DataType.isUtf8(type) || DataType.isLargeUtf8(type) || DataType.isBinary(type) || DataType.isLargeBinary(type)) {
    const bytes = data.values as Uint8Array;
    const ends = readOffsets(field, data, bytes.length);
    const binary = DataType.isBinary(type) || DataType.isLargeBinary(type);
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    return Array.from({ length }, (_, row) => {
      if (binary) return bytes.subarray(ends[row], ends[row + 1]);
      const value = text.toString("utf8", ends[row], ends[row + 1]);
      return stored === "json" ? fromTaggedJson(value) : value;
    });
  }
  if (DataType.isList(type) || DataType.isLargeList(type)) {
    const items = data.children[0] as Data;
    const ends = readOffsets(field, data, items.length);
    const typed = items.nullCount === 0 && stored !== undefined && typedName(items.values) === stored;
    const all = typed
      ? (items.values as Float32Array).subarray(0, items.length)
      : decodeColumn(type.children[0] as Field, items, maxLength);
    return Array.from({ length }, (_, row) =>
      typed ? (all as Float32Array).subarray(ends[row], ends[row + 1]) : all.slice(ends[row], ends[row + 1]),
    );
  }
  if (DataType.isFixedSizeList(type)) {
    const items = decodeColumn(type.children[0] as Field, data.children[0] as Data, maxLength);
    if (items.length < length * type.listSize) throw unreadable(field, "is cut short");
    return Array.from({ length }, (_, row) => items.slice(row * type.listSize, (row + 1) * type.listSize));
  }
  if (DataType.isStruct(type)) {
    const columns = type.children.map(
      (child: Field, i) => [child.name, decodeColumn(child, data.children[i] as Data, maxLength)] as const,
    );
    if (columns.some(([, values]) => values.length !== length))
      throw unreadable(field, "has members of different lengths");
    return Array.from({ length }, (_, row) => Object.fromEntries(columns.map(([key, values]) => [key, values[row]])));
  }
  throw unreadable(field, `has the Arrow type ${Type[type.typeId]}, which has no reading here`);
}

/** Starts and ends of rows; they never go back, so all rows together are no larger than what they cut. */
function readOffsets(field: Field, data: Data, end: number): number[] {
  const ends = Array.from(data.valueOffsets as Iterable<number | bigint>, Number).slice(0, data.length + 1);
  const ordered = ends.every((offset, i) => offset >= (ends[i - 1] ?? 0) && offset <= end);
  if (ends.length <= data.length || !ordered) throw unreadable(field, "has offsets that are out of order");
  return ends;
}

function unreadable(field: Field, why: string): VerlError {
  return new VerlError("VERL_BATCH_ARROW", `Arrow column "${field.name}" ${why}.`, {
    hint: "Write the column as numbers, utf8, lists or structs.",
  });
}
