import { definePlugin, VERSION } from "verl";
import { agentLoops } from "./agent-loop/index.ts";
import { dispatchModes } from "./controller/index.ts";
import { datasets } from "./dataset/index.ts";
import { engines } from "./engine/index.ts";
import { rewardManagers } from "./reward-manager/index.ts";
import { rollouts } from "./rollout/index.ts";
import { tensorBackends } from "./tensor-backend/index.ts";
import { trackers } from "./tracker/index.ts";

/** The built-ins, as one plugin, which is loaded as any other. */
export default definePlugin({
  name: "verl",
  version: VERSION,
  verl: VERSION,
  provides: [
    ...agentLoops,
    ...datasets,
    ...dispatchModes,
    ...engines,
    ...rewardManagers,
    ...rollouts,
    ...tensorBackends,
    ...trackers,
  ],
});
