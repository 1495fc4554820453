import { counted, VerlError } from "../../errors/index.ts";
import { nearest, quotedAlternatives } from "../../registry/nearest.ts";
import type { RolloutCorrectionConfig } from "./config.ts";

/** What a rule looks at: each token by itself, or one number of the whole answer. */
export type RejectionLevel = "token" | "seq_sum" | "seq_mean" | "seq_max";

/**
 * Estimate of the divergence at a token, with Δ = log π_train − log π_rollout (Schulman, "Approximating KL Divergence"):
 * k1 = −Δ, k2 = ½Δ², k3 = e^Δ − 1 − Δ.
 */
export type Divergence = "k1" | "k2" | "k3";

/** Tokens or answers whose statistic lies outside [lower, upper] are rejected. */
export interface RejectionRule {
  readonly name: string;
  readonly level: RejectionLevel;
  readonly divergence: Divergence;
  /** −∞ for k2 and k3, which have no lower bound. */
  readonly lower: number;
  readonly upper: number;
}

const RULES: Readonly<Record<string, Pick<RejectionRule, "level" | "divergence">>> = {
  seq_max_k2: { level: "seq_max", divergence: "k2" },
  seq_max_k3: { level: "seq_max", divergence: "k3" },
  seq_mean_k1: { level: "seq_mean", divergence: "k1" },
  seq_mean_k2: { level: "seq_mean", divergence: "k2" },
  seq_mean_k3: { level: "seq_mean", divergence: "k3" },
  seq_sum_k1: { level: "seq_sum", divergence: "k1" },
  seq_sum_k2: { level: "seq_sum", divergence: "k2" },
  seq_sum_k3: { level: "seq_sum", divergence: "k3" },
  token_k1: { level: "token", divergence: "k1" },
  token_k2: { level: "token", divergence: "k2" },
  token_k3: { level: "token", divergence: "k3" },
};

/** Names that `rollout_rs` may list, sorted. */
export const REJECTION_RULES: readonly string[] = Object.keys(RULES);

/**
 * The rules of `rollout_rs` with their bounds; none for null. A rule that is named twice counts once, bounds are counted after that.
 *
 * A k1 rule takes `lower_upper`, ratios that stand for log(lower) ≤ k1 ≤ log(upper), or `upper` alone, for lower = 1/upper. As
 * k1 = −Δ, the ratios are π_rollout/π_train: "0.5_4" keeps importance ratios π_train/π_rollout from 0.25 to 2, as in verl.
 * @param path of the section, for messages. @throws VERL_ALGORITHM_CONFIG
 */
export function parseRejectionRules(
  config: Pick<RolloutCorrectionConfig, "rollout_rs" | "rollout_rs_threshold">,
  path = "algorithm.rollout_correction",
): RejectionRule[] {
  if (config.rollout_rs === null) return [];
  const names = ruleNames(config.rollout_rs, `${path}.rollout_rs`);
  const at = `${path}.rollout_rs_threshold`;
  const bounds = boundTexts(config.rollout_rs_threshold, names, at);
  return names.map((name, index) => {
    const rule = RULES[name]!;
    const text = bounds.length === 1 ? bounds[0]! : bounds[index]!;
    return { name, ...rule, ...(rule.divergence === "k1" ? ratioBounds(name, text, at) : upperBound(name, text, at)) };
  });
}

function ruleNames(list: string, path: string): string[] {
  const names = [...new Set(list.split(",").map((name) => name.trim()))].filter((name) => name !== "");
  if (names.length === 0) {
    throw invalid(
      path,
      "rollout_rs is empty.",
      `Name at least one of ${REJECTION_RULES.join(", ")}, or set it to null.`,
    );
  }
  for (const name of names) {
    if (Object.hasOwn(RULES, name)) continue;
    const meant = nearest(name, REJECTION_RULES);
    throw invalid(
      path,
      `rollout_rs names the rule "${name}", which does not exist.`,
      `${meant.length > 0 ? `Did you mean ${quotedAlternatives(meant)}? ` : ""}The rules are ${REJECTION_RULES.join(", ")}.`,
    );
  }
  return names;
}

function boundTexts(threshold: unknown, names: readonly string[], path: string): string[] {
  if (threshold === null || threshold === undefined) {
    throw invalid(
      path,
      `rollout_rs asks for ${names.join(", ")}, but rollout_rs_threshold is not set.`,
      'Give one bound for all rules, or one a rule, comma-separated: 0.01, or "0.5_2.0,0.01".',
    );
  }
  if (typeof threshold !== "number" && typeof threshold !== "string") {
    throw invalid(path, `rollout_rs_threshold is ${JSON.stringify(threshold)}.`, "It must be a number or a text.");
  }
  const texts = String(threshold)
    .split(",")
    .map((text) => text.trim());
  if (texts.length === 1 || texts.length === names.length) return texts;
  throw invalid(
    path,
    `rollout_rs_threshold has ${texts.length} bounds ("${threshold}") for ${counted(names.length, "rule")} (${names.join(", ")}).`,
    "Give one bound for all rules, or exactly one a rule; a rule named twice counts once.",
  );
}

function ratioBounds(name: string, text: string, path: string): Pick<RejectionRule, "lower" | "upper"> {
  const parts = text.split("_");
  if (parts.length > 2) {
    throw invalid(
      path,
      `The bound "${text}" of ${name} has ${parts.length} parts.`,
      "Write lower_upper, as in 0.5_2.0.",
    );
  }
  const [first, second] = parts.map((part) => positive(name, part, text, path));
  const [lower, upper] = second === undefined ? [1 / first!, first!] : [first!, second];
  if (lower > upper) {
    throw invalid(
      path,
      `The bound "${text}" of ${name} keeps nothing: its lower ratio ${lower} is above the upper one, ${upper}.`,
      "Write lower_upper with lower ≤ upper, or a single upper ratio of 1 or more (its inverse is the lower one).",
    );
  }
  return { lower: Math.log(lower), upper: Math.log(upper) };
}

function upperBound(name: string, text: string, path: string): Pick<RejectionRule, "lower" | "upper"> {
  if (text.includes("_")) {
    throw invalid(
      path,
      `The bound "${text}" of ${name} has a lower part.`,
      `${name} is never negative and takes a single upper bound without "_"; only k1 rules take lower_upper.`,
    );
  }
  return { lower: -Infinity, upper: positive(name, text, text, path) };
}

function positive(name: string, part: string, text: string, path: string): number {
  const value = part.trim() === "" ? NaN : Number(part);
  const which = part === text ? `The bound "${text}" of ${name}` : `"${part}" in the bound "${text}" of ${name}`;
  if (!Number.isFinite(value)) throw invalid(path, `${which} is not a number.`, "Write a positive number, as in 0.01.");
  if (value <= 0) throw invalid(path, `${which} must be positive.`, "Bounds are ratios (k1) or divergences (k2, k3).");
  return value;
}

function invalid(path: string, message: string, hint: string): VerlError {
  return new VerlError("VERL_ALGORITHM_CONFIG", message, { location: { path }, hint });
}
