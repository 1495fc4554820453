import { definePlugin, provide } from "verl";
import { advEstimator } from "./adv-estimator.js";

export default definePlugin({
  name: "__name__",
  version: "__version__",
  verl: "__api__",
  provides: [provide("adv_estimator", "__key__", advEstimator)],
});
