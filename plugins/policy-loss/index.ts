import { provide } from "verl";
import { bypassMode } from "./bypass-mode.ts";
import { cispo } from "./cispo.ts";
import { clipCov } from "./clip-cov.ts";
import { geoMean } from "./geo-mean.ts";
import { gpg } from "./gpg.ts";
import { gspo } from "./gspo.ts";
import { klCov } from "./kl-cov.ts";
import { reinforce } from "./reinforce.ts";
import { sapo } from "./sapo.ts";
import { vanilla } from "./vanilla.ts";

/** Built-in policy losses. */
export const policyLosses = [
  provide("policy_loss", "bypass_mode", bypassMode),
  provide("policy_loss", "cispo", cispo),
  provide("policy_loss", "clip_cov", clipCov),
  provide("policy_loss", "geo_mean", geoMean),
  provide("policy_loss", "gpg", gpg),
  provide("policy_loss", "gspo", gspo),
  provide("policy_loss", "kl_cov", klCov),
  provide("policy_loss", "reinforce", reinforce),
  provide("policy_loss", "sapo", sapo),
  provide("policy_loss", "vanilla", vanilla),
];
