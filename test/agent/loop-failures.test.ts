import { expect, it } from "@jest/globals";
import { reportFailures } from "../../core/agent/loop-failures.ts";
import { DeadlineError } from "../../core/reward/deadline.ts";
import { recordingLogger } from "../data/helpers.ts";

it("a sample that had no time left is told without a stack", () => {
  const log = recordingLogger();
  reportFailures([[{ uid: "7", sampleIndex: 2, error: new DeadlineError("timed out after 3 s (a.key)") }]], log);
  expect(log.lines.join()).toContain(
    "Dropped the group of prompt 7: its answer 2 failed every time. It timed out after 3 s (a.key).",
  );
  expect(log.lines.join()).not.toContain("\n");
});
