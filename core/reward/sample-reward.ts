import type { SampleReward } from "./reward-manager.ts";

type Extra = SampleReward["extra"];

/** Why a sample has no score: a class that is counted, and what exactly happened. */
export type UnscoredClass = "error" | "timeout" | "memory" | "not_a_number" | "not_finite" | "empty_response";

/** A sample without score; its reason starts with the class, which `unscoredClass` reads back. */
export function unscored(kind: UnscoredClass, detail: string, extra: Extra = {}): SampleReward {
  return { unscored: `${kind}: ${detail}`, extra };
}

/** The class of a reason; reasons of third-party managers without one are `other`. */
export function unscoredClass(reason: string): string {
  return /^[a-z_]{1,40}(?=:)/.exec(reason)?.[0] ?? "other";
}

/**
 * What a score function returned, as a sample's reward. A finite number or a boolean is the score; of an object, `score` is, and every
 * other number, string, boolean or null becomes a column (numbers that are not finite become null and are named in `notFinite`; nested values are left out).
 * Anything else leaves the sample unscored.
 */
export function toSampleReward(result: unknown): SampleReward {
  if (!isObject(result)) return fromScore(result, {});
  return "score" in result
    ? withNotFinite(fromScore(result.score, partsOf(result)), result)
    : unscored(
        "not_a_number",
        `the score function returned an object without score (it has ${Object.keys(result).join(", ") || "no keys"})`,
      );
}

function withNotFinite(reward: SampleReward, result: Record<string, unknown>): SampleReward {
  if ("unscored" in reward) return reward;
  const notFinite = Object.keys(reward.extra).filter(
    (part) => typeof result[part] === "number" && !Number.isFinite(result[part]),
  );
  return notFinite.length === 0 ? reward : { ...reward, notFinite };
}

function fromScore(value: unknown, extra: Extra): SampleReward {
  const score = typeof value === "boolean" || typeof value === "bigint" ? Number(value) : value;
  if (typeof score !== "number")
    return unscored("not_a_number", `the score function returned ${describeValue(value)}`, extra);
  if (!Number.isFinite(score)) return unscored("not_finite", `the score function returned ${score}`, extra);
  return { score, extra };
}

function partsOf(result: Record<string, unknown>): Extra {
  const extra: Extra = {};
  for (const [key, value] of Object.entries(result)) {
    if (key === "score") continue;
    if (typeof value === "number") extra[key] = Number.isFinite(value) ? value : null;
    else if (typeof value === "bigint") extra[key] = Number(value);
    else if (typeof value === "string" || typeof value === "boolean" || value === null) extra[key] = value;
  }
  return extra;
}

/** What a value is, in a sentence's middle. */
export function describeValue(value: unknown): string {
  if (typeof value === "string") return `the string ${JSON.stringify(value.slice(0, 60))}`;
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object" && value !== null) return "an object";
  return value === undefined ? "nothing" : value === null ? "null" : `a ${typeof value}`;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
