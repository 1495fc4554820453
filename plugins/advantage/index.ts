import { provide } from "verl";
import { grpo } from "./grpo.ts";

/** Built-in advantage estimators. */
export const advantageEstimators = [provide("adv_estimator", "grpo", grpo)];
