export { NdArray, type DType, type DTypeArrays, type RowIds } from "./nd-array.ts";
export { TensorDict, type TensorFields } from "./tensor-dict.ts";
export {
  DataProto,
  type ColumnFields,
  type DataProtoItem,
  type DataProtoKeys,
  type DataProtoParts,
} from "./data-proto.ts";
export { IS_PAD } from "./padding.ts";
export type { Column } from "./parts.ts";
export type { ConflictPolicy, MetaInfo } from "./meta-info.ts";
export type { RowSelection, Shuffler } from "./row-ids.ts";
export {
  balancedOrder,
  greedyPartition,
  inverseOrder,
  karmarkarKarp,
  seqlenBalancedPartitions,
  workload,
  type Partitions,
} from "./balance.ts";
export {
  microBatchPartitions,
  rearrangeMicroBatches,
  type MicroBatches,
  type MicroBatchOptions,
} from "./micro-batches.ts";
export type { Nested } from "./nested.ts";
