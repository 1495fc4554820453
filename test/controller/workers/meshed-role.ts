import type { DataProto } from "../../../core/batch/data-proto.ts";
import { ndCompute, ndComputeDataProto } from "../../../core/controller/nd-compute.ts";
import { register } from "../../../core/controller/register.ts";
import { Worker, type WorkerContext } from "../../../core/controller/worker.ts";

/** Stands in a mesh, in the order of the ranks or the other way round, and gives back what it got. */
export class MeshedRole extends Worker {
  static override readonly module = import.meta.url;

  constructor(context: WorkerContext, backwards = false) {
    super(context);
    this.registerDispatchCollectInfo("own", backwards ? this.worldSize - 1 - this.rank : this.rank, true);
  }

  @register({ dispatchMode: ndComputeDataProto("own") })
  same(batch: DataProto): Promise<DataProto> {
    return Promise.resolve(batch);
  }

  @register({ dispatchMode: ndCompute("own") })
  shares(batch: DataProto): Promise<number[]> {
    return Promise.resolve([this.rank, ...batch.column("at").map(Number)]);
  }

  @register({ dispatchMode: ndCompute("other") })
  lost(): Promise<void> {
    return Promise.resolve();
  }

  @register({ dispatchMode: "ONE_TO_ALL" })
  fine(): Promise<number> {
    return Promise.resolve(this.rank);
  }
}
