import { DataType, Field, FixedSizeList, Float32, Int32, Int64, Precision, Uint8 } from "apache-arrow";
import type { DType } from "./nd-array.ts";

/** Keys of the schema's metadata. */
export const META_INFO = "verl.meta_info";
export const ROWS = "verl.rows";

/** Keys of a field's metadata: a tensor's dtype where Arrow's type does not tell, and how values are stored where that is a choice. */
const DTYPE = "verl.dtype";
export const STORED_AS = "verl.stored_as";

/** The canonical extension type for tensors whose rows have more than one element; pyarrow reads it as a `FixedShapeTensorArray`. */
const EXTENSION_NAME = "ARROW:extension:name";
const EXTENSION_METADATA = "ARROW:extension:metadata";
const FIXED_SHAPE_TENSOR = "arrow.fixed_shape_tensor";

/** `bool` stays one byte an element, so that reading it is a view. */
const ELEMENT: { [D in DType]: () => DataType } = {
  float32: () => new Float32(),
  int32: () => new Int32(),
  int64: () => new Int64(),
  uint8: () => new Uint8(),
  bool: () => new Uint8(),
};

/** Arrow field of a tensor: a plain number where a row is one element, else a fixed-size list with the row's shape. */
export function tensorField(name: string, dtype: DType, rowShape: readonly number[]): Field<DataType> {
  const metadata = new Map<string, string>([[DTYPE, dtype]]);
  if (rowShape.length === 0) return new Field(name, ELEMENT[dtype](), false, metadata);
  const size = rowShape.reduce((product, extent) => product * extent, 1);
  const type = new FixedSizeList(size, new Field("item", ELEMENT[dtype](), false));
  metadata.set(EXTENSION_NAME, FIXED_SHAPE_TENSOR).set(EXTENSION_METADATA, JSON.stringify({ shape: rowShape }));
  return new Field(name, type, false, metadata);
}

/** dtype and row shape of a field that is a tensor, ours or anyone's; undefined for a column of values. */
export function tensorOf(field: Field): { dtype: DType; rowShape: number[] } | undefined {
  if (field.metadata.has(STORED_AS)) return undefined;
  const type = field.type as DataType;
  if (!DataType.isFixedSizeList(type)) {
    const dtype = dtypeOf(type, field);
    return dtype && { dtype, rowShape: [] };
  }
  const dtype = dtypeOf(type.valueType as DataType, field);
  const extension =
    field.metadata.get(EXTENSION_NAME) === FIXED_SHAPE_TENSOR ? field.metadata.get(EXTENSION_METADATA) : undefined;
  const rowShape = extension ? (JSON.parse(extension) as { shape: number[] }).shape : [type.listSize];
  return dtype && { dtype, rowShape };
}

function dtypeOf(type: DataType, field: Field): DType | undefined {
  if (DataType.isInt(type)) {
    if (type.bitWidth === 8 && !type.isSigned) return field.metadata.get(DTYPE) === "bool" ? "bool" : "uint8";
    if (type.bitWidth === 32 && type.isSigned) return "int32";
    if (type.bitWidth === 64 && type.isSigned) return "int64";
  }
  return DataType.isFloat(type) && type.precision === Precision.SINGLE ? "float32" : undefined;
}
