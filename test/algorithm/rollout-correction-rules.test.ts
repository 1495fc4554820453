import { describe, expect, it } from "@jest/globals";
import { correctRollout, parseRejectionRules, REJECTION_RULES } from "../../core/algorithm/rollout-correction/index.ts";
import { isVerlError } from "../../core/errors/verl-error.ts";
import { array } from "./vectors.ts";

const parse = (rollout_rs: string | null, rollout_rs_threshold: unknown) =>
  parseRejectionRules({ rollout_rs, rollout_rs_threshold: rollout_rs_threshold as string });

function failure(act: () => unknown) {
  try {
    act();
  } catch (error) {
    if (isVerlError(error)) return error;
    throw error;
  }
  throw new Error("Nothing was raised.");
}

describe("rules", () => {
  it("are eleven, each with its own bounds", () => {
    expect(REJECTION_RULES).toHaveLength(11);
    const rules = parse(REJECTION_RULES.join(","), REJECTION_RULES.map((_, i) => i + 1).join(","));
    expect(rules.map(({ name }) => name)).toEqual(REJECTION_RULES);
    expect(rules.map(({ level, divergence }) => `${level}_${divergence}`)).toEqual(REJECTION_RULES);
    rules.forEach(({ divergence, lower, upper }, i) => {
      const bounds = divergence === "k1" ? [-Math.log(i + 1), Math.log(i + 1)] : [-Infinity, i + 1];
      expect(lower).toBeCloseTo(bounds[0]!, 12);
      expect(upper).toBe(bounds[1]);
    });
  });

  it("are none for null", () => expect(parse(null, null)).toEqual([]));

  it.each([
    ["0.5_2.0", Math.log(0.5), Math.log(2)],
    [" 0.5 _ 2.0 ", Math.log(0.5), Math.log(2)],
    ["4", -Math.log(4), Math.log(4)],
    [1, 0, 0],
    ["1_1e3", 0, Math.log(1000)],
  ])("take the ratio bound %j in log space", (text, lower, upper) => {
    const [rule] = parse("token_k1", text);
    expect(rule!.lower).toBeCloseTo(lower, 12);
    expect(rule!.upper).toBeCloseTo(upper, 12);
  });

  it("named twice count once, and blanks between commas count for nothing", () => {
    const rules = parse(" token_k2 ,, seq_max_k2,token_k2,", "1, 2");
    expect(rules.map(({ name, upper }) => [name, upper])).toEqual([
      ["token_k2", 1],
      ["seq_max_k2", 2],
    ]);
  });
});

const RS = "algorithm.rollout_correction.rollout_rs";
const THRESHOLD = "algorithm.rollout_correction.rollout_rs_threshold";

describe("errors name the option, its value and what is allowed", () => {
  it.each([
    ["token_k4", 1, RS, 'rollout_rs names the rule "token_k4", which does not exist.', 'Did you mean "token_k1"'],
    ["seq_max_k1", 1, RS, 'names the rule "seq_max_k1"', "seq_max_k2, seq_max_k3, seq_mean_k1, seq_mean_k2"],
    ["geometric", 1, RS, 'names the rule "geometric"', "The rules are seq_max_k2"],
    ["toString", 1, RS, 'names the rule "toString"', "The rules are seq_max_k2"],
    ["", 1, RS, "rollout_rs is empty.", "Name at least one of seq_max_k2"],
    [" , ", 1, RS, "rollout_rs is empty.", "set it to null"],
    ["token_k2", null, THRESHOLD, "asks for token_k2, but rollout_rs_threshold is not set.", "one bound for all"],
    ["token_k2", true, THRESHOLD, "rollout_rs_threshold is true.", "a number or a text"],
    ["token_k2", "abc", THRESHOLD, 'The bound "abc" of token_k2 is not a number.', "positive number"],
    ["token_k2", "", THRESHOLD, 'The bound "" of token_k2 is not a number.', "positive number"],
    ["token_k2", Infinity, THRESHOLD, 'The bound "Infinity" of token_k2 is not a number.', "positive number"],
    ["token_k2", 0, THRESHOLD, 'The bound "0" of token_k2 must be positive.', "divergences"],
    ["token_k2", "1_2", THRESHOLD, 'The bound "1_2" of token_k2 has a lower part.', 'single upper bound without "_"'],
    ["token_k1", "-1_2", THRESHOLD, '"-1" in the bound "-1_2" of token_k1 must be positive.', "ratios (k1)"],
    ["token_k1", "1_", THRESHOLD, '"" in the bound "1_" of token_k1 is not a number.', "positive number"],
    ["token_k1", "1_2_3", THRESHOLD, 'The bound "1_2_3" of token_k1 has 3 parts.', "lower_upper"],
    ["token_k1", "2_0.5", THRESHOLD, "keeps nothing: its lower ratio 2 is above the upper one, 0.5.", "lower ≤ upper"],
    ["token_k1", 0.5, THRESHOLD, "keeps nothing: its lower ratio 2 is above the upper one, 0.5.", "1 or more"],
    ["token_k2", "1,2", THRESHOLD, 'has 2 bounds ("1,2") for 1 rule (token_k2).', "exactly one a rule"],
    ["token_k2,token_k3,seq_sum_k2", "1,2", THRESHOLD, 'has 2 bounds ("1,2") for 3 rules', "exactly one a rule"],
  ])("%j at %j", (rollout_rs, threshold, path, message, hint) => {
    const error = failure(() => parse(rollout_rs, threshold));
    expect(error.code).toBe("VERL_ALGORITHM_CONFIG");
    expect(error.message).toContain(message);
    expect(error.hint).toContain(hint);
    expect(error.location).toEqual({ path });
  });

  const off = {
    rollout_is: null,
    rollout_is_threshold: 2,
    rollout_is_batch_normalize: false,
    rollout_rs: null,
    rollout_rs_threshold: null,
  };
  const correct = (config: object) => {
    const matrix = array([[0]]);
    const input = { old_log_probs: matrix, rollout_log_probs: matrix, response_mask: array([[1]]) };
    return correctRollout(input, { ...off, ...config }, "section");
  };

  it.each([
    [{ rollout_is: "geometric" }, "section.rollout_is", 'rollout_is is "geometric".', '"token" or "sequence", or null'],
    [
      { rollout_is: "token", rollout_is_threshold: 0 },
      "section.rollout_is_threshold",
      "rollout_is_threshold is 0; it must be positive.",
      "2 is usual",
    ],
    [
      { rollout_is: "token", rollout_is_threshold: NaN },
      "section.rollout_is_threshold",
      "rollout_is_threshold is NaN; it must be positive.",
      "2 is usual",
    ],
    [{ rollout_rs: "token_k2" }, "section.rollout_rs_threshold", "rollout_rs_threshold is not set.", "one bound"],
  ])("of the whole section: %j", (config, path, message, hint) => {
    const error = failure(() => correct(config));
    expect(error.code).toBe("VERL_ALGORITHM_CONFIG");
    expect(error.message).toContain(message);
    expect(error.hint).toContain(hint);
    expect(error.location).toEqual({ path });
  });

  it("but a threshold of weights that are off is not read", () => {
    expect(() => correct({ rollout_is_threshold: 0 })).not.toThrow();
  });
});
