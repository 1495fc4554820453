import { expect, it } from "@jest/globals";
import { DataProto } from "../../core/batch/data-proto.ts";
import { StepMetrics } from "../../core/trainer/metrics/index.ts";
import { takeMetrics } from "../../core/trainer/ppo-phases.ts";

/** Answers of two ranks, which reported these; as `DataProto.concat` has it, a metric that a rank lacks has fewer values. */
const answers = (metrics: Record<string, number[]>): DataProto =>
  new DataProto({ nonTensorBatch: { uid: ["a", "b", "c", "d"] }, metaInfo: { metrics: { rows: [3, 1], ...metrics } } });

it("what counts something adds up over ranks and batches, whatever it is broken down by", () => {
  const metrics = new StepMetrics();
  const reported = {
    "agent_loop/retries": [4, 2],
    "agent_loop/abandoned_loops": [1, 0],
    "agent_loop/dropped_groups": [2, 1],
    "agent_loop/dropped_groups/timeout": [2],
    "agent_loop/ended/answered": [3, 1],
    "agent_loop/tool_calls/count": [7, 0],
  };
  takeMetrics(answers(reported), metrics);
  takeMetrics(answers(reported), metrics);
  expect(metrics.finish()).toEqual({
    "agent_loop/retries": 12,
    "agent_loop/abandoned_loops": 2,
    "agent_loop/dropped_groups": 6,
    "agent_loop/dropped_groups/timeout": 4,
    "agent_loop/ended/answered": 8,
    "agent_loop/tool_calls/count": 14,
  });
});

it("means are of the rows, and of the ranks that have any where some have none", () => {
  const metrics = new StepMetrics();
  takeMetrics(
    answers({
      "agent_loop/num_turns/mean": [2, 6],
      "agent_loop/num_turns/max": [2, 6],
      "agent_loop/tool_latency/p50": [0.5],
    }),
    metrics,
  );
  expect(metrics.finish()).toEqual({
    "agent_loop/num_turns/mean": 3,
    "agent_loop/num_turns/max": 6,
    "agent_loop/tool_latency/p50": 0.5,
  });
});
