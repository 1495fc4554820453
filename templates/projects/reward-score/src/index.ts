import { definePlugin, provide } from "verl";
import { rewardScore } from "./reward-score.js";

export default definePlugin({
  name: "__name__",
  version: "__version__",
  verl: "__api__",
  provides: [provide("reward_score", "__key__", rewardScore)],
});
