import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { ASSEMBLED, assembleTrajectories } from "../../core/agent/assemble.ts";
import { TrajectoryRecorder, type Trajectory } from "../../core/agent/trajectory.ts";
import { errorOf } from "../data/helpers.ts";
import { generation } from "./fake-rollout.ts";

const OPTIONS = { promptLength: 3, responseLength: 5, padTokenId: 0 };

describe("TrajectoryRecorder", () => {
  it("keeps tokens in, tokens out (case 76)", () => {
    // 10 = a, 11 = b, 99 = ab (never encoded anew), 7 = end, 8 = newline of the template, 20 and 21 = the tool's message.
    const recorder = new TrajectoryRecorder(Int32Array.of(1));
    recorder.sampled(generation([10, 11, 7]));
    recorder.observed(Int32Array.of(8, 20, 21));
    expect([...recorder.ids()]).toEqual([1, 10, 11, 7, 8, 20, 21]);
    recorder.sampled(generation([12, 7]));
    expect([recorder.length, recorder.responseLength]).toEqual([9, 8]);
    const { batch } = assembleTrajectories([recorder.end({ stopReason: "stop", numTurns: 4 })], {
      ...OPTIONS,
      responseLength: 8,
    });
    expect([...batch.responses!.data]).toEqual([10, 11, 7, 8, 20, 21, 12, 7]);
    expect([...batch.response_mask!.data]).toEqual([1, 1, 1, 0, 0, 0, 1, 1]);
    expect(batch.rollout_log_probs!.data).toEqual(Float32Array.of(-1, -1.1, -0.7, 0, 0, 0, -1.2, -0.7));
  });

  it("remembers the oldest weights and refuses log-probs of another length", async () => {
    const recorder = new TrajectoryRecorder(Int32Array.of(1));
    recorder.sampled({ ...generation([5]), weightVersion: 4 });
    recorder.sampled({ ...generation([6]), weightVersion: 3 });
    expect(recorder.end({ stopReason: "stop", numTurns: 2 }).weightVersion).toBe(3);
    const lopsided = { ...generation([5, 6]), logprobs: Float32Array.of(0) };
    expect((await errorOf(() => recorder.sampled(lopsided))).code).toBe("VERL_AGENT_TRAJECTORY");
  });
});

describe("assembleTrajectories", () => {
  it("lists the names of all that it makes", () => {
    const trajectory = new TrajectoryRecorder(Int32Array.of(4)).end({
      stopReason: "stop",
      numTurns: 2,
      rewardScore: 1,
    });
    const { batch, columns } = assembleTrajectories([trajectory], OPTIONS);
    expect([...ASSEMBLED].sort()).toEqual([...Object.keys(batch), ...Object.keys(columns)].sort());
  });

  it("lays out verl's batch", () => {
    const first = new TrajectoryRecorder(Int32Array.of(4));
    first.sampled(generation([5, 6]));
    const second = new TrajectoryRecorder(Int32Array.of(1, 2, 3));
    second.sampled(generation([7]));
    second.observed(Int32Array.of(8));
    const { batch, columns, cut } = assembleTrajectories(
      [
        first.end({ stopReason: "stop", numTurns: 2, extraFields: { tool: "x" } }),
        second.end({ stopReason: "limit", numTurns: 3, rewardScore: 0.5 }),
      ],
      OPTIONS,
    );
    const data = (key: string): number[] => [...(batch[key]!.data as Int32Array)];
    expect(data("prompts")).toEqual([0, 0, 4, 1, 2, 3]);
    expect(data("responses")).toEqual([5, 6, 0, 0, 0, 7, 8, 0, 0, 0]);
    expect(data("response_mask")).toEqual([1, 1, 0, 0, 0, 1, 0, 0, 0, 0]);
    expect(data("input_ids")).toEqual([0, 0, 4, 5, 6, 0, 0, 0, 1, 2, 3, 7, 8, 0, 0, 0]);
    expect(data("attention_mask")).toEqual([0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0]);
    expect(data("position_ids")).toEqual([0, 0, 0, 1, 2, 2, 2, 2, 0, 1, 2, 3, 4, 4, 4, 4]);
    expect(columns).toEqual({
      tool: ["x", null],
      __num_turns__: [2, 3],
      stop_reason: ["stop", "limit"],
      weight_version: [0, 0],
      reward_score: [null, 0.5],
    });
    expect(batch.rm_scores).toBeUndefined();
    expect(cut).toBe(0);
  });

  it.each([
    ["cut off before its end", [5, 6, 7], [1, 1, 1, 0, 0]],
    ["ended by a second end token", [5, 9], [1, 1, 0, 0, 0]],
    ["ended by the token that also pads", [5, 2], [1, 1, 0, 0, 0]],
    ["going on after an end token", [5, 2, 6], [1, 1, 1, 0, 0]],
  ])("masks by true length, never by end tokens: an answer %s (case 70)", (_, ids, mask) => {
    const recorder = new TrajectoryRecorder(Int32Array.of(4));
    recorder.sampled(generation(ids));
    const { batch } = assembleTrajectories([recorder.end({ stopReason: "stop", numTurns: 2 })], {
      ...OPTIONS,
      padTokenId: 2,
    });
    expect([...batch.response_mask!.data]).toEqual(mask);
  });

  it("puts rm_scores on the last response token when all scored themselves, none on an empty response", () => {
    const scored = (ids: number[]): Trajectory => {
      const recorder = new TrajectoryRecorder(Int32Array.of(4));
      recorder.sampled(generation(ids));
      return recorder.end({ stopReason: "stop", numTurns: 2, rewardScore: 2 });
    };
    const { batch } = assembleTrajectories([scored([5, 6]), scored([])], OPTIONS);
    expect([...batch.rm_scores!.data]).toEqual([0, 2, 0, 0, 0, 0, 0, 0, 0, 0]);
  });

  it("keeps each row's tokens, mask and log-probs together, whatever the segments", () => {
    const segment = fc.record({
      ids: fc.array(fc.integer({ min: 1, max: 90 }), { maxLength: 4 }),
      sampled: fc.boolean(),
    });
    const trajectory = fc.record({
      prompt: fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 3 }),
      segments: fc.array(segment, { maxLength: 4 }),
    });
    fc.assert(
      fc.property(fc.array(trajectory, { maxLength: 6 }), (rows) => {
        const trajectories = rows.map(({ prompt, segments }) => {
          const recorder = new TrajectoryRecorder(Int32Array.from(prompt));
          for (const { ids, sampled } of segments) {
            if (sampled) recorder.sampled(generation(ids));
            else recorder.observed(Int32Array.from(ids));
          }
          return recorder.end({ stopReason: "stop", numTurns: 1 });
        });
        const { batch, cut } = assembleTrajectories(trajectories, OPTIONS);
        rows.forEach(({ prompt, segments }, row) => {
          const tokens = segments
            .flatMap(({ ids, sampled }) => ids.map((id) => ({ id, sampled })))
            .slice(0, OPTIONS.responseLength);
          const cells = (key: string): number[] => [...(batch[key]!.row(row).data as Int32Array)];
          const padded = (values: number[]): number[] => [
            ...values,
            ...new Array<number>(OPTIONS.responseLength - values.length).fill(0),
          ];
          expect(cells("responses")).toEqual(padded(tokens.map(({ id }) => id)));
          expect(cells("response_mask")).toEqual(padded(tokens.map(({ sampled }) => Number(sampled))));
          expect(cells("rollout_log_probs")).toEqual(
            padded(tokens.map(({ id, sampled }) => (sampled ? Math.fround(-id / 10) : 0))),
          );
          expect(cells("input_ids")).toEqual([...cells("prompts"), ...cells("responses")]);
          expect(cells("attention_mask").reduce((sum, bit) => sum + bit, 0)).toBe(prompt.length + tokens.length);
        });
        expect(cut).toBe(
          rows.filter(({ segments }) => segments.flatMap(({ ids }) => ids).length > OPTIONS.responseLength).length,
        );
      }),
    );
  });
});
