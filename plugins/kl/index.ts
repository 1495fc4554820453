import { provide } from "verl";
import { abs } from "./abs.ts";
import { full } from "./full.ts";
import { k1 } from "./k1.ts";
import { k2 } from "./k2.ts";
import { k3 } from "./k3.ts";

/** Built-in KL estimators. */
export const klPenalties = [
  provide("kl_penalty", "k1", k1),
  provide("kl_penalty", "abs", abs),
  provide("kl_penalty", "k2", k2),
  provide("kl_penalty", "k3", k3),
  provide("kl_penalty", "full", full),
];
