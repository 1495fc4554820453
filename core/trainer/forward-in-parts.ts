import type { DataProto } from "../batch/data-proto.ts";
import { NdArray } from "../batch/nd-array.ts";
import type { ForwardOptions, ForwardOutput, TrainingEngine } from "../engine/training-engine.ts";
import { cutMicroBatches, type MicroBatchSize } from "./micro-batches.ts";

export type EngineOutput = NonNullable<ForwardOptions["outputs"]>[number];

/** A forward pass over micro-batches: each output rows × response length (`log_softmax`: × vocabulary), float32. */
export async function forwardInParts<O extends EngineOutput>(
  engine: TrainingEngine,
  batch: DataProto,
  size: MicroBatchSize,
  options: { temperature: number; outputs: readonly O[] },
): Promise<Record<O, NdArray<"float32">>> {
  const parts: ForwardOutput[] = [];
  const { batches, restore } = cutMicroBatches(batch, size);
  for (const micro of batches) parts.push(await engine.forward(micro, options));
  const join = (name: O): NdArray<"float32"> => {
    if (parts.length === 0) return NdArray.zeros("float32", batch.tensor("responses").shape);
    const joined = NdArray.concat(parts.map((part) => part[name]!));
    return restore ? joined.gather(restore) : joined;
  };
  return Object.fromEntries(options.outputs.map((name) => [name, join(name)])) as Record<O, NdArray<"float32">>;
}
