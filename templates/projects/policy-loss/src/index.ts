import { definePlugin, provide } from "verl";
import { policyLoss } from "./policy-loss.js";

export default definePlugin({
  name: "__name__",
  version: "__version__",
  verl: "__api__",
  provides: [provide("policy_loss", "__key__", policyLoss)],
});
