import { registries, type Provided } from "../../../core/registry/index.ts";
import { agentLoops } from "../../../plugins/agent-loop/index.ts";
import { dispatchModes, executeModes, transports } from "../../../plugins/controller/index.ts";
import { datasets } from "../../../plugins/dataset/index.ts";
import { engines } from "../../../plugins/engine/index.ts";
import { rewardManagers } from "../../../plugins/reward-manager/index.ts";
import { rollouts } from "../../../plugins/rollout/index.ts";
import { samplers } from "../../../plugins/sampler/index.ts";
import { tensorBackends } from "../../../plugins/tensor-backend/index.ts";
import { trackers } from "../../../plugins/tracker/index.ts";
import { centred, k1, policyGradient, tokenMean } from "./algorithms.ts";

/** Registers the built-ins that a run needs, and the algorithms of `algorithms.ts`. */
export function registerBuiltIns(): void {
  const provided: readonly Provided[] = [
    ...agentLoops,
    ...dispatchModes,
    ...datasets,
    ...engines,
    ...executeModes,
    ...rewardManagers,
    ...rollouts,
    ...samplers,
    ...tensorBackends,
    ...trackers,
    ...transports,
  ];
  for (const { kind, key, entry } of provided) registries[kind].register(key, entry as never);
  registries.adv_estimator.register("test-centred", centred);
  registries.policy_loss.register("test-pg", policyGradient);
  registries.loss_agg.register("test-token-mean", tokenMean);
  registries.kl_penalty.register("test-k1", k1);
}
