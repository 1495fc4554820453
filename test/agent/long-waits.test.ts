import { afterEach, beforeEach, expect, it, jest } from "@jest/globals";
import { LongWaits } from "../../core/agent/long-waits.ts";
import { recordingLogger } from "../data/helpers.ts";

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

const SECOND = 1000;

it("tells of waits without an answer, at times that grow over the whole run", () => {
  const log = recordingLogger();
  const waits = new LongWaits(log, null);
  const wait = waits.watch("Step 1", 32);
  jest.advanceTimersByTime(59 * SECOND);
  expect(log.lines).toEqual([]);
  jest.advanceTimersByTime(2 * SECOND);
  expect(log.lines.join("\n")).toContain(
    "Step 1 has waited 60 s for its next answer; 32 of 32 are missing. An attempt at one may take any time (actor_rollout_ref.rollout.agent.sample_timeout_s)",
  );
  jest.advanceTimersByTime(60 * SECOND);
  expect(log.lines).toHaveLength(2);
  wait.end();
  const later = waits.watch("Step 2", 32);
  jest.advanceTimersByTime(239 * SECOND);
  expect(log.lines).toHaveLength(2);
  jest.advanceTimersByTime(2 * SECOND);
  expect(log.lines.slice(2).join()).toContain("Step 2 has waited 240 s");
  later.end();
  jest.advanceTimersByTime(10_000 * SECOND);
  expect(log.lines).toHaveLength(3);
  expect(jest.getTimerCount()).toBe(0);
});

it("says nothing while answers come, and then how many are missing and what limits them", () => {
  const log = recordingLogger();
  const wait = new LongWaits(log, 600).watch("The validation of step 3", 10);
  for (let answer = 0; answer < 8; answer += 1) {
    jest.advanceTimersByTime(50 * SECOND);
    wait.came();
  }
  expect(log.lines).toEqual([]);
  jest.advanceTimersByTime(61 * SECOND);
  expect(log.lines.join("\n")).toMatch(/^.*The validation of step 3 .* 2 of 10 are missing\. .* may take 600 s/);
  wait.end();
});
