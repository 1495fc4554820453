export {
  CheckpointManager,
  type Checkpoint,
  type CheckpointInfo,
  type CheckpointManagerOptions,
  type CheckpointParts,
} from "./checkpoint-manager.ts";
