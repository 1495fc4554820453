import { describe, expect, it } from "@jest/globals";
import { registerKlPenalty, type KlPenalty } from "../../core/index.ts";
import {
  testAdvEst,
  testKlPenalty,
  testLossAgg,
  testPolicyLoss,
  testRewardScore,
  type KlPenaltyCase,
  type SuiteOptions,
} from "../../core/testing/index.ts";
import { collect } from "./collect.ts";

const shifted: KlPenalty = {
  description: "Difference of log-probs, and a bit.",
  compute: (logProb, reference) => logProb.sub(reference).add(0.25),
};
registerKlPenalty("shifted", shifted);

const good: KlPenaltyCase = {
  name: "half a nat",
  input: { log_prob: [[-1]], ref_log_prob: [[-1.5]] },
  expected: { kl: [[0.75]] },
};

const define = (options: object) => () =>
  testKlPenalty("shifted", { describe: () => {}, it: () => {}, ...options } as unknown as SuiteOptions<KlPenaltyCase>);

describe("an author's golden cases", () => {
  it.each<[string, unknown, string]>([
    ["left out", undefined, "are missing"],
    ["none", [], "are missing"],
    ["without a name", [{ ...good, name: "" }], "have one without a name, at 0"],
    [
      "of one name",
      [good, { ...good, input: { log_prob: [[0]], ref_log_prob: [[0]] } }],
      'have two of the name "half a nat"',
    ],
    ["of one input", [good, { ...good, name: "again" }], 'have the same input in "half a nat" and "again"'],
    ["without expectation", [{ ...good, expected: undefined }], 'expect nothing in "half a nat"'],
    ["with an empty expectation", [{ ...good, expected: { kl: [] } }], 'expect nothing in "half a nat"'],
    [
      "of zeros alone",
      [
        good,
        { name: "equal", input: { log_prob: [[-1]], ref_log_prob: [[-1]] }, expected: { kl: [[0]], gradient: [[-0]] } },
      ],
      'expect nothing but zeros in "equal"',
    ],
    ["with a slip of the pen", [{ ...good, expect: 1 }], "the field `expect`, which means nothing"],
    ["in no file", "test/testing/no-such-file.ts", "which does not exist"],
    ["in a file of others", "test/testing/collect.ts", 'does not name "shifted"'],
  ])("are refused when they are %s", (_, cases, message) => {
    expect(define({ cases })).toThrow(message);
    expect(define({ cases })).toThrow(expect.objectContaining({ code: "VERL_TESTING_CASES" }));
  });

  it.each<[string, (options: never) => void, object]>([
    [
      "an advantage estimator",
      (options) => testAdvEst("grpo", options),
      { token_level_rewards: [[1], [0]], uid: ["g", "g"] },
    ],
    [
      "a policy loss",
      (options) => testPolicyLoss("vanilla", options),
      { log_probs: [[-1], [-2]], old_log_probs: [[-1], [-1]], advantages: [[1], [2]] },
    ],
    ["an aggregation mode", (options) => testLossAgg("token-mean", options), { losses: [[1], [2]] }],
  ])("of %s are refused when all tokens are masked, or when all that is expected is 0", (_, suite, fields) => {
    const weak = (mask: number, expected: object) => () =>
      suite({
        describe: () => {},
        it: () => {},
        cases: [{ name: "weak", input: { ...fields, response_mask: [[mask], [mask]] }, expected }],
      } as never);
    expect(weak(0, { loss: 1 })).toThrow('mask every token in "weak"');
    expect(weak(1, { loss: 0, metrics: { "actor/share": 0 } })).toThrow('expect nothing but zeros in "weak"');
    expect(weak(1, { loss: 0, metrics: { "actor/share": 0.5 } })).not.toThrow();
  });

  it("of kinds with one number a case may be 0, but not all of them", () => {
    const define =
      (...expected: number[]) =>
      () =>
        testRewardScore("openai/gsm8k", {
          describe: () => {},
          it: () => {},
          cases: expected.map((score, row) => ({
            name: `answer ${row}`,
            input: { solution_str: `#### ${row}`, ground_truth: "1" },
            expected: { score },
          })),
        });
    expect(define(0, 1)).not.toThrow();
    expect(define(0)).toThrow("expect nothing but zeros");
  });

  it("hold, or tell which number is another", async () => {
    const wrong: KlPenaltyCase = {
      name: "wrong",
      input: { log_prob: [[0, -1]], ref_log_prob: [[0, -1.5]] },
      expected: { kl: [[0, 0.75]] },
    };
    const odd = {
      ...wrong,
      name: "odd",
      input: { log_prob: [[-1]], ref_log_prob: [[0]] },
      expected: { kll: 1 },
    } as KlPenaltyCase;
    const names = ["half a nat", "wrong", "odd"].map((name) => `golden case "${name}"`);
    const results = await collect(
      (runner) => testKlPenalty("shifted", { cases: [good, wrong, odd], ...runner }),
      names,
    );
    expect(Object.values(results)).toEqual([
      undefined,
      expect.stringContaining("kl[0][0] is 0.25, not 0"),
      expect.stringContaining("kll is expected, and there is no such result"),
    ]);
  });
});

describe("an exception", () => {
  const property = "equal policies have no divergence";
  const run = (except: Record<string, string>) =>
    collect((runner) => testKlPenalty("shifted", { cases: [good], except, ...runner }));

  it("lets a property fail, and fails once it holds", async () => {
    const name = `needs its exception: ${property} (it is shifted)`;
    expect((await run({ [property]: "it is shifted" }))[name]).toBeUndefined();
    const stale = await run({ "each token stands alone": "no reason" });
    expect(stale["needs its exception: each token stands alone (no reason)"]).toContain("take the exception out");
    expect(stale[property]).toContain("kl[0][0] is 0.25 for equal log-probs");
  });

  it("names a property, and has a reason", () => {
    expect(define({ cases: [good], except: { "every token": "why not" } })).toThrow("no property of this kind");
    expect(define({ cases: [good], except: { [property]: " " } })).toThrow("gives no reason");
  });
});

it("asks for `describe` and `it` where there are none", () => {
  const saved = Object.getOwnPropertyDescriptor(globalThis, "it")!;
  Object.defineProperty(globalThis, "it", { value: undefined, configurable: true });
  try {
    expect(define({ cases: [good], it: undefined })).toThrow("There is no `describe` and `it`");
  } finally {
    Object.defineProperty(globalThis, "it", saved);
  }
});

it("leaves an unknown key to the registry's own error", async () => {
  const run = collect((runner) => testKlPenalty("shiftet", { cases: [good], ...runner }), ["each token stands alone"]);
  expect((await run)["each token stands alone"]).toBe('No KL estimator is registered as "shiftet".');
});
