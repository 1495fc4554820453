import { beforeAll, describe, expect, it } from "@jest/globals";
import { DataProto } from "../../core/batch/data-proto.ts";
import { NdArray } from "../../core/batch/nd-array.ts";
import { cutMicroBatches, microBatchSize } from "../../core/trainer/micro-batches.ts";
import { actorRole, rolloutRole } from "../../core/trainer/role-configs.ts";
import { RunConsole } from "../../core/trainer/run-console.ts";
import { registerBuiltIns } from "./support/built-ins.ts";
import { ppoConfig, recordingStream } from "./support/tiny-run.ts";

beforeAll(registerBuiltIns);

describe("cutMicroBatches", () => {
  /** Rows of the given lengths in a batch of this width; `input_ids` hold the row's number. */
  const rowsOf = (lengths: readonly number[], width: number): DataProto => {
    const cells = lengths.flatMap((length, row) =>
      Array.from({ length: width }, (_, at) => [row, at < length ? 1 : 0]),
    );
    const matrix = (part: 0 | 1) =>
      new NdArray(
        "int32",
        [lengths.length, width],
        Int32Array.from(cells, (cell) => cell[part]!),
      );
    return DataProto.fromDict({ input_ids: matrix(0), attention_mask: matrix(1) });
  };
  const rowNumbers = (batch: DataProto): number[] =>
    Array.from({ length: batch.length }, (_, row) => batch.tensor("input_ids", "int32").row(row).data[0]!);

  it("cuts by rows, the last part short", () => {
    const { batches, restore } = cutMicroBatches(rowsOf([1, 2, 3, 4, 5], 6), { rows: 2 });
    expect(batches.map(rowNumbers)).toEqual([[0, 1], [2, 3], [4]]);
    expect(restore).toBeUndefined();
  });

  it("cuts into equal parts below a number of padded tokens", () => {
    const { batches } = cutMicroBatches(rowsOf([1, 2, 3, 4, 5], 6), { paddedTokens: 24 });
    expect(batches.map((batch) => batch.length)).toEqual([3, 2]);
    // A row wider than the bound is a part of its own.
    expect(cutMicroBatches(rowsOf([6, 6], 6), { paddedTokens: 5 }).batches).toHaveLength(2);
  });

  it("cuts by real tokens, and knows the way back to the batch's order", () => {
    const lengths = [5, 1, 4, 2, 3];
    const { batches, restore } = cutMicroBatches(rowsOf(lengths, 6), { tokens: 6 });
    for (const batch of batches) {
      const tokens = rowNumbers(batch).reduce((sum, row) => sum + lengths[row]!, 0);
      expect(batch.length === 1 || tokens <= 6).toBe(true);
    }
    const cut = batches.flatMap(rowNumbers);
    expect(Array.from(restore!, (at) => cut[at])).toEqual([0, 1, 2, 3, 4]);
  });

  it("has nothing to cut in a batch of no rows", () => {
    expect(cutMicroBatches(rowsOf([], 6), { tokens: 6 }).batches).toEqual([]);
  });

  it("reads the config's size: tokens when dynamic, else rows, else padded tokens", () => {
    expect(microBatchSize(4, true, 100)).toEqual({ tokens: 100 });
    expect(microBatchSize(4, false, 100)).toEqual({ rows: 4 });
    expect(microBatchSize(null, false, 100)).toEqual({ paddedTokens: 100 });
  });
});

describe("role configs", () => {
  it("count warm-up and length of the schedule in optimizer steps", () => {
    const config = ppoConfig("/nowhere", [
      "actor_rollout_ref.actor.optim.lr_warmup_steps=5",
      "actor_rollout_ref.actor.grad_clip=0.5",
    ]);
    const role = actorRole(config, { steps: 100, updatesPerStep: 4 });
    expect(role).toMatchObject({ role: "actor", total_training_steps: 400 });
    expect(role.optim).toMatchObject({ lr_warmup_steps: 20, clip_grad: 0.5 });
  });

  it("leave a negative warm-up to the ratio, and tell the sampler its bound", () => {
    const config = ppoConfig("/nowhere", ["actor_rollout_ref.rollout.max_num_seqs=7"]);
    expect(actorRole(config, { steps: 100, updatesPerStep: 4 }).optim).toMatchObject({ lr_warmup_steps: -1 });
    expect(rolloutRole(config)).toMatchObject({ role: "rollout", max_num_seqs: 7 });
  });
});

describe("RunConsole", () => {
  it("writes log lines where the progress line is, before, during and after it", () => {
    const stream = recordingStream();
    const console = new RunConsole({ stream });
    console.logger.info("before");
    console.begin(2, 0);
    console.logger.warn("during");
    console.stepDone(2, { "critic/score/mean": 0.5 });
    console.end();
    console.note("after");
    expect(stream.text()).toBe("before\nwarning: during\nstep 2/2, reward 0.5\nafter\n");
  });
});
