import { definePlugin, VERSION } from "verl";
import { advantageEstimators } from "./advantage/index.ts";
import { agentLoops } from "./agent-loop/index.ts";
import { dispatchModes, executeModes, transports } from "./controller/index.ts";
import { datasets } from "./dataset/index.ts";
import { engines } from "./engine/index.ts";
import { interactions } from "./interaction/index.ts";
import { klPenalties } from "./kl/index.ts";
import { lossAggs } from "./loss-agg/index.ts";
import { policyLosses } from "./policy-loss/index.ts";
import { rewardManagers } from "./reward-manager/index.ts";
import { rewardScores } from "./reward-score/index.ts";
import { rollouts } from "./rollout/index.ts";
import { samplers } from "./sampler/index.ts";
import { tensorBackends } from "./tensor-backend/index.ts";
import { tools } from "./tool/index.ts";
import { toolParsers } from "./tool-parser/index.ts";
import { trackers } from "./tracker/index.ts";

export { RlhfDataset } from "./dataset/rlhf.ts";

/** The built-ins, as one plugin, which is loaded as any other. */
export default definePlugin({
  name: "verl",
  version: VERSION,
  verl: VERSION,
  provides: [
    ...advantageEstimators,
    ...agentLoops,
    ...datasets,
    ...dispatchModes,
    ...engines,
    ...executeModes,
    ...interactions,
    ...klPenalties,
    ...lossAggs,
    ...policyLosses,
    ...rewardManagers,
    ...rewardScores,
    ...rollouts,
    ...samplers,
    ...tensorBackends,
    ...toolParsers,
    ...tools,
    ...trackers,
    ...transports,
  ],
});
