import { DataProto } from "../../../core/batch/data-proto.ts";
import { NdArray } from "../../../core/batch/nd-array.ts";
import { register } from "../../../core/controller/register.ts";
import { Worker, type WorkerContext } from "../../../core/controller/worker.ts";

/** What the tests ask a rank for, wherever it lives. */
export class Probe extends Worker {
  static override readonly module = import.meta.url;

  constructor(
    context: WorkerContext,
    private readonly factor: number,
  ) {
    super(context);
  }

  @register({ dispatchMode: "ONE_TO_ALL" })
  where(word: string): Promise<string> {
    return Promise.resolve(`${word} ${this.rank}/${this.worldSize} x${this.factor}`);
  }

  @register({ dispatchMode: "ONE_TO_ALL" })
  echo(value: unknown): Promise<unknown> {
    return Promise.resolve(value);
  }

  @register({ dispatchMode: "DP_COMPUTE_PROTO" })
  scale(batch: DataProto, by: { offset: number }): Promise<DataProto> {
    const ids = batch.tensor("ids", "int32");
    const data = ids.data.map((value) => value * this.factor + by.offset);
    return Promise.resolve(DataProto.fromSingleDict({ ids: new NdArray("int32", ids.shape, data) }));
  }
}
