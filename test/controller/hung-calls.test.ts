import { beforeAll, expect, it } from "@jest/globals";
import { register } from "../../core/controller/register.ts";
import { Worker } from "../../core/controller/worker.ts";
import { WorkerGroup } from "../../core/controller/worker-group.ts";
import { loadPlugin } from "./load-dispatch-modes.ts";

beforeAll(loadPlugin);

class Sums extends Worker {
  /** Rank 0 leaves the others waiting. */
  @register({ dispatchMode: "ONE_TO_ALL" })
  async withoutFirst(): Promise<void> {
    if (this.rank > 0) await this.peers.sum(new Float32Array(2));
  }
}

it("disposes a group within seconds whose ranks wait for one that does not come, and the call says so", async () => {
  const group = await WorkerGroup.create(Sums, [], { worldSize: 3 });
  const call = group.withoutFirst().catch((error: Error) => error.message);
  const started = performance.now();
  await group.dispose();
  expect(performance.now() - started).toBeLessThan(15_000);
  expect(await call).toContain("the group is disposed");
}, 30_000);
