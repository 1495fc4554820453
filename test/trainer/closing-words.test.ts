import { expect, it } from "@jest/globals";
import { closingWords, failureWords } from "../../core/trainer/closing-words.ts";

const result = { metrics: {}, validation: {}, directory: "run" };
const ended = { ...result, interrupted: false };
const stopped = { ...result, interrupted: true };

it.each([
  [
    "all steps",
    { ...ended, step: 3, total: 3, model: "m", report: "r" },
    0,
    ["Done: 3 of 3 steps.", "Model: m", "Report: r"],
  ],
  [
    "no training",
    { ...ended, step: 2, total: 2, validation: { "val/loss": 1 } },
    2,
    ["Validated the model of step 2; trainer.val_only trains none."],
  ],
  ["one step", { ...ended, step: 1, total: 1 }, 0, ["Done: 1 of 1 step."]],
  [
    "none left",
    { ...ended, step: 5, total: 1 },
    5,
    ["Nothing was left to do: the checkpoint is of step 5, and the run has 1 step."],
  ],
  [
    "before the first",
    { ...stopped, step: 0, total: 3 },
    0,
    ["Stopped before the first step; the same command starts from the beginning."],
  ],
  [
    "without saving",
    { ...stopped, step: 2, total: 3 },
    0,
    [
      "Stopped after step 2 of 3. No checkpoint was written (trainer.save_freq), so the same command starts from the beginning.",
    ],
  ],
  [
    "with a checkpoint",
    { ...stopped, step: 2, total: 3, checkpoint: "c", report: "r" },
    1,
    [
      "Stopped after step 2 of 3. The last checkpoint is c; run the same command again to go on from there.",
      "Report: r",
    ],
  ],
])("says how a run ended: %s", (_, given, start, lines) => {
  expect(closingWords(given, start)).toEqual(lines);
});

it("says what an error leaves", () => {
  const words = (done: number, saved: number, checkpoint?: string) => failureWords({ done, saved, checkpoint });
  expect(words(0, 0)).toBeUndefined();
  expect(words(5, 0)).toBe(
    "Failed after step 5. No checkpoint was written (trainer.save_freq), so the same command starts from the beginning.",
  );
  expect(words(5, 4, "run/global_step_4")).toBe(
    "Failed after step 5. The last checkpoint is run/global_step_4; 1 step after it will be done again. The same command goes on from there.",
  );
  expect(words(4, 4, "run/global_step_4")).toBe(
    "Failed after step 4. The last checkpoint is run/global_step_4. The same command goes on from there.",
  );
});
