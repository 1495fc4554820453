import { provide } from "verl";
import { vanilla } from "./vanilla.ts";

/** Built-in policy losses. */
export const policyLosses = [provide("policy_loss", "vanilla", vanilla)];
