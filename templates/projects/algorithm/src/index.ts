import { definePlugin, provide } from "verl";
import { advEstimator } from "./adv-estimator.js";
import { policyLoss } from "./policy-loss.js";

/** Both entries go by one key, in two registries. */
const KEY = "__key__";

export default definePlugin({
  name: "__name__",
  version: "__version__",
  verl: "__api__",
  provides: [provide("adv_estimator", KEY, advEstimator), provide("policy_loss", KEY, policyLoss)],
});
