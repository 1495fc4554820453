export { NdArray, type DType, type DTypeArrays, type RowIds } from "./nd-array.ts";
export { TensorDict, type TensorFields } from "./tensor-dict.ts";
export {
  DataProto,
  IS_PAD,
  type Column,
  type DataProtoItem,
  type DataProtoKeys,
  type DataProtoParts,
} from "./data-proto.ts";
export type { ConflictPolicy, MetaInfo } from "./meta-info.ts";
export type { RowSelection, Shuffler } from "./row-ids.ts";
