import { totalmem } from "node:os";
import * as tf from "@tensorflow/tfjs";
import { GAE_SCAN, GROUP_STATISTICS, MASKED_WHITEN, POLICY_LOSS, type BackendOptions } from "verl";
import type { HostMemory } from "../../kernel/host/host-kernel.ts";
import { registerHostKernels } from "../../kernel/host/register.ts";
import { registerGradients } from "../gradients.ts";
import { physicalCores } from "../physical-cores.ts";
import { OrtBackend } from "./backend.ts";
import { registerKernels } from "./register.ts";

const NAME = "ort";

/** Training, sampling, log-probs and validation, each in a few shapes. */
const CACHED_GRAPHS = 48;
/** Compiled graphs may hold this share of the machine's memory. */
const MEMORY_SHARE = 0.25;

/**
 * Loops over plain arrays that beat a graph: many operations on little, one token after another, or (whitening) sums that float32 would spoil.
 * The others are left to graphs of the composed forms, whose exponentials and products run on the vector unit: of 64 × 32,768 logits a graph
 * takes the log-probs and entropies in half of the loop's time.
 */
const HOST_KERNELS = [POLICY_LOSS, MASKED_WHITEN, GROUP_STATISTICS, GAE_SCAN];

/** What a recorded graph has yet to compute is not in memory: a kernel that asked for it would cut the graph in two. */
const MEMORY: HostMemory<OrtBackend> = {
  valuesOf: (backend, { dataId }) => backend.valuesAtHand(dataId) as Float32Array | Int32Array | undefined,
  tensorOf: (backend, values, shape) => ({ dataId: backend.adopt(values, shape), shape, dtype: "float32" }),
  room: (backend, size) => backend.recorder.spare.take(size),
};

/** The backend as tfjs knows it, registered on the first call. Options count then, and not later. */
export function registerOrt({ threads, cachedGraphs }: BackendOptions = {}): OrtBackend {
  const known = tf.findBackend(NAME);
  if (known !== null && known !== undefined) return known as OrtBackend;
  const backend = new OrtBackend({
    threads: threads ?? physicalCores(),
    sessions: cachedGraphs ?? CACHED_GRAPHS,
    sessionBytes: MEMORY_SHARE * totalmem(),
  });
  tf.registerBackend(NAME, () => backend);
  registerHostKernels(NAME, MEMORY, HOST_KERNELS);
  registerKernels(backend, NAME);
  registerGradients();
  return backend;
}
