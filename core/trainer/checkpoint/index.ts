export {
  CheckpointManager,
  type Checkpoint,
  type CheckpointInfo,
  type CheckpointManagerOptions,
} from "./checkpoint-manager.ts";
export type { CheckpointParts } from "./checkpoint-parts.ts";
