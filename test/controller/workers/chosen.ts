import type { DataProto } from "../../../core/batch/data-proto.ts";
import { ndComputeDataProto } from "../../../core/controller/nd-compute.ts";
import { register } from "../../../core/controller/register.ts";
import { Worker, type WorkerContext } from "../../../core/controller/worker.ts";

/** Methods of execute modes that choose ranks oddly. */
export class Chosen extends Worker {
  static override readonly module = import.meta.url;
  private batches = 0;

  constructor(context: WorkerContext) {
    super(context);
    this.registerDispatchCollectInfo("own", this.rank, true);
  }

  @register({ executeMode: "test-throws" })
  async throws(): Promise<void> {}

  @register({ executeMode: "test-none" })
  async none(): Promise<void> {}

  @register({ executeMode: "test-beyond" })
  async beyond(): Promise<void> {}

  @register({ executeMode: "test-word" })
  async word(): Promise<void> {}

  @register({ executeMode: "test-twice" })
  async twice(): Promise<void> {}

  @register({ executeMode: "test-empty" })
  async empty(): Promise<void> {}

  @register({ executeMode: "test-backwards" })
  backwards(): Promise<number> {
    return Promise.resolve(this.rank);
  }

  @register({ dispatchMode: "DP_COMPUTE_PROTO", executeMode: "test-backwards" })
  backwardsBatch(batch: DataProto): Promise<DataProto> {
    return Promise.resolve(batch);
  }

  @register({ dispatchMode: "DP_COMPUTE_PROTO", executeMode: "RANK_ZERO" })
  firstBatch(batch: DataProto): Promise<DataProto> {
    this.batches++;
    return Promise.resolve(batch);
  }

  @register({ dispatchMode: ndComputeDataProto("own"), executeMode: "RANK_ZERO" })
  firstOverMesh(batch: DataProto): Promise<DataProto> {
    return this.firstBatch(batch);
  }

  @register({ dispatchMode: "DP_COMPUTE_METRIC", executeMode: "RANK_ZERO" })
  firstLength(batch: DataProto): Promise<number> {
    return Promise.resolve(batch.length);
  }

  @register({ dispatchMode: "ONE_TO_ALL" })
  called(): Promise<number> {
    return Promise.resolve(this.batches);
  }
}
