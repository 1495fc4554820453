import { beforeAll, expect, it } from "@jest/globals";
import { DataProto } from "../../core/batch/data-proto.ts";
import { NdArray } from "../../core/batch/nd-array.ts";
import { DataProtoFuture } from "../../core/controller/data-proto-future.ts";
import { register } from "../../core/controller/register.ts";
import { Worker } from "../../core/controller/worker.ts";
import { WorkerGroup } from "../../core/controller/worker-group.ts";
import { loadPlugin } from "./load-dispatch-modes.ts";

beforeAll(loadPlugin);

class Sums extends Worker {
  @register({ dispatchMode: "DP_COMPUTE_PROTO" })
  doubled(batch: DataProto): Promise<DataProto> {
    const { shape, data } = batch.tensor("x", "float32");
    return Promise.resolve(
      DataProto.fromSingleDict({
        x: new NdArray(
          "float32",
          shape,
          data.map((value) => value * 2),
        ),
      }),
    );
  }

  /** Rank 0 leaves the others waiting, and never ends. */
  @register({ dispatchMode: "ONE_TO_ALL" })
  async withoutFirst(): Promise<void> {
    if (this.rank === 0) await new Promise(() => undefined);
    await this.peers.sum(new Float32Array(2));
  }
}

it("takes a batch that it is still to make itself", async () => {
  const group = await WorkerGroup.create(Sums, [], { worldSize: 2 });
  const batch = DataProto.fromSingleDict({ x: new NdArray("float32", [4], Float32Array.of(1, 2, 3, 4)) });
  const later = new DataProtoFuture(() => Promise.resolve(group.doubled(batch)));
  expect((await group.doubled(later)).tensor("x", "float32").data).toEqual(Float32Array.of(4, 8, 12, 16));
  await group.dispose();
});

it("disposes a group within seconds whose ranks wait for one that does not come, and the call says so", async () => {
  const group = await WorkerGroup.create(Sums, [], { worldSize: 3 });
  const call = group.withoutFirst().catch((error: Error) => error.message);
  const started = performance.now();
  await group.dispose();
  expect(performance.now() - started).toBeLessThan(15_000);
  // Of the rank that hangs, or of those that wait for it.
  expect(await call).toMatch(/was disposed with its group|the group is disposed/);
}, 30_000);
