import { definePlugin, provide } from "verl";
import { policyLoss } from "./policy-loss.js";

export default definePlugin({
  name: "verl-plugin-raft",
  version: "0.1.0",
  verl: "^0.1",
  provides: [provide("policy_loss", "raft", policyLoss)],
});
