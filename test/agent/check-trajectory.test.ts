import { describe, expect, it } from "@jest/globals";
import { checkTrajectory } from "../../core/agent/check-trajectory.ts";
import type { Trajectory } from "../../core/agent/trajectory.ts";
import { errorOf } from "../data/helpers.ts";

const GOOD: Trajectory = {
  promptIds: Int32Array.of(1),
  segments: [{ ids: Int32Array.of(4), logprobs: Float32Array.of(-1), trainable: true }],
  stopReason: "stop",
  numTurns: 1,
  extraFields: { turn_scores: [] },
  weightVersion: 0,
};
const sampled = (...logprobs: number[]): Partial<Trajectory> => ({
  segments: [{ ids: Int32Array.of(1), logprobs: Float32Array.from(logprobs), trainable: true }],
});
const check = (trajectory: unknown, limits: { vocabSize?: number } = {}): void =>
  checkTrajectory(trajectory as Trajectory, { promptLength: 3, columns: { uid: "u1", prompt: null }, ...limits });
const observed = (...ids: number[]): Partial<Trajectory> => ({
  segments: [{ ids: Int32Array.from(ids), trainable: false }],
});

describe("checkTrajectory", () => {
  it("lets a trajectory pass that says what training reads", () => {
    check(GOOD);
    check({ ...GOOD, ...sampled(1e-6), rewardScore: 0 });
    check({ ...GOOD, segments: [{ ids: Int32Array.of(1), trainable: false }] });
  });

  it.each<[string, object, string]>([
    ["too long a prompt", { promptIds: new Int32Array(4) }, "4 tokens; 1 to 3"],
    ["no prompt", { promptIds: new Int32Array(0) }, "0 tokens"],
    ["a list as a prompt", { promptIds: [1] }, "no Int32Array"],
    ["trainable tokens without log-probs", { segments: [{ ids: Int32Array.of(1), trainable: true }] }, "no log-probs"],
    ["log-probs of another length", sampled(-1, -2), "1 tokens but 2 log-probs"],
    ["a log-prob that is NaN", sampled(NaN), "a log-prob of NaN"],
    ["a probability above 1", sampled(0.5), "a log-prob of 0.5"],
    ["a probability of 0 that was sampled", sampled(-Infinity), "a log-prob of -Infinity"],
    ["no segments", { segments: undefined }, "segments are no array"],
    ["no extra fields", { extraFields: undefined }, "extraFields are no object"],
    ["an extra field over a column of the batch", { extraFields: { uid: "zzz" } }, 'extra field "uid"'],
    ...["stop_reason", "__num_turns__", "weight_version", "reward_score", "response_mask", "rm_scores"].map(
      (name): [string, object, string] => [
        `an extra field ${name}`,
        { extraFields: { fine: 1, [name]: 1 } },
        `extra field "${name}" has the name of a field that the run itself fills`,
      ],
    ),
    ["a negative id", observed(3, -5), "a segment has the id -5 (token 1), outside the vocabulary"],
    ["a negative id in the prompt", { promptIds: Int32Array.of(-1) }, "its prompt has the id -1 (token 0)"],
    ["a stop reason that nobody knows", { stopReason: "done" }, "stopReason is done"],
    ["a score that is NaN", { rewardScore: NaN }, "rewardScore is NaN"],
    ["no number of turns", { numTurns: undefined }, "numTurns are undefined"],
    ["no version of weights", { weightVersion: Infinity }, "weightVersion is Infinity"],
  ])("refuses %s", async (_, fault, text) => {
    const error = await errorOf(() => check({ ...GOOD, ...fault }));
    expect(error.code).toBe("VERL_AGENT_TRAJECTORY");
    expect(error.message).toContain(text);
  });

  it("refuses ids that the model does not have, where it is known how many it has", async () => {
    check({ ...GOOD, ...observed(99) }, { vocabSize: 100 });
    check({ ...GOOD, ...observed(2_000_000) });
    for (const fault of [observed(2_000_000), { segments: [{ ...GOOD.segments[0]!, ids: Int32Array.of(100) }] }])
      expect((await errorOf(() => check({ ...GOOD, ...fault }, { vocabSize: 100 }))).message).toContain(
        "(token 0), outside the vocabulary of 100",
      );
    expect((await errorOf(() => check({ ...GOOD, promptIds: Int32Array.of(3) }, { vocabSize: 3 }))).message).toContain(
      "its prompt has the id 3",
    );
  });

  it("refuses a loop that returned nothing", async () => {
    expect((await errorOf(() => check(undefined))).message).toContain("the loop returned none");
  });
});
