import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { DATASET_SOURCE } from "../../core/data/dataset.ts";
import { loadTokenizer } from "../../core/data/load-tokenizer.ts";
import { definePlugin } from "../../core/registry/define-plugin.ts";
import { registerPlugin } from "../../core/registry/load-plugin.ts";
import { createRunContainer } from "../../core/registry/run-container.ts";
import { CONFIG, LOGGER, METRICS, RNG, TOKENIZER } from "../../core/registry/tokens.ts";
import { loadScoreFunctions, SCORE_FUNCTIONS } from "../../core/reward/score-functions.ts";
import { createRng } from "../../core/tensor/rng.ts";
import { agentLoops } from "../../plugins/agent-loop/index.ts";
import { datasets } from "../../plugins/dataset/index.ts";
import { samplers } from "../../plugins/sampler/index.ts";
import { rewardManagers } from "../../plugins/reward-manager/index.ts";
import { errorOf, folderWith, recordingLogger, SORT_MODEL } from "./helpers.ts";

registerPlugin(
  definePlugin({
    name: "test-data-built-ins",
    version: "0.0.0",
    verl: "^0.1",
    provides: [...datasets, ...samplers, ...rewardManagers, ...agentLoops],
  }),
);

describe("the built-ins of data, reward and agent loops", () => {
  it("are constructed by a run's container, options validated", async () => {
    const data = {
      prompt_key: "prompt",
      reward_fn_key: "data_source",
      max_prompt_length: 8,
      filter_overlong_prompts: false,
      truncation: "error",
      apply_chat_template_kwargs: {},
    };
    const container = createRunContainer({
      [CONFIG]: {
        data,
        reward_model: { reward_manager: "naive", timeout_s: 60 },
        custom_reward_function: { path: "reward.ts", name: "compute_score", reward_kwargs: {} },
      },
      [TOKENIZER]: await loadTokenizer(SORT_MODEL),
      [RNG]: createRng(0),
      [LOGGER]: recordingLogger(),
      [METRICS]: { add: () => undefined },
      [SCORE_FUNCTIONS]: await loadScoreFunctions({ path: null, name: "compute_score", reward_kwargs: {} }, "."),
    });
    const file = join(
      folderWith({ "a.jsonl": JSON.stringify({ data_source: "s", prompt: [{ role: "user", content: "ba" }] }) }),
      "a.jsonl",
    );
    const dataset = container.create("dataset", "rlhf", {
      values: { [DATASET_SOURCE]: { files: [file], maxSamples: -1, shuffle: true } },
    });
    await dataset.load();
    expect([...dataset.promptIds(0)]).toEqual([1, 37, 36, 3, 2]);
    expect(container.create("sampler", "random").order(0, 3)).toHaveLength(3);
    expect([...container.create("sampler", "sequential").order(0, 3)]).toEqual([0, 1, 2]);
    expect(container.create("agent_loop", "single_turn_agent")).toHaveProperty("run");
    expect(container.create("reward_manager", "naive")).toHaveProperty("score");
    const error = await errorOf(() => container.create("reward_manager", "naive", { options: { max_concurrent: 0 } }));
    expect(error.code).toBe("VERL_OPTIONS_INVALID");
  });
});
