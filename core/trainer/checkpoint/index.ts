export {
  CheckpointManager,
  type Checkpoint,
  type CheckpointInfo,
  type CheckpointManagerOptions,
} from "./checkpoint-manager.ts";
export { MODEL_FOLDER, type CheckpointContent, type CheckpointParts, type WriteModel } from "./checkpoint-parts.ts";
