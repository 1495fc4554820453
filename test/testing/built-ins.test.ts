import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { loadPlugins, registries } from "../../core/registry/index.ts";
import { testAdvEst, testKlPenalty, testLossAgg, testPolicyLoss } from "../../core/testing/index.ts";

await loadPlugins([]);

const TESTS = join(import.meta.dirname, "..");
const FILES = ["parity", "algorithm"].flatMap((folder) =>
  readdirSync(join(TESTS, folder)).map((file) => join(TESTS, folder, file)),
);
const TEXTS = FILES.map((file) => [file, readFileSync(file, "utf8")] as const);

/** The file that holds a built-in's numbers; the kit fails where none names the key. */
const casesOf = (key: string): string => TEXTS.find(([, text]) => text.includes(`"${key}"`))?.[0] ?? FILES[0]!;

const CONSTANT_RATIO = { "the gradient is that of finite differences": "the weight is a constant of the gradient" };

/** Why some built-ins need more than their key, or less than every property. */
const SPECIAL: Readonly<Record<string, Partial<Parameters<typeof testAdvEst>[1]>>> = {
  gdpo: {
    options: { reward_keys: ["format", "correct"] },
    fields: { format: { per: "row", min: 0, max: 1 }, correct: { per: "row", min: -1, max: 1 } },
  },
  cispo: { except: CONSTANT_RATIO },
  gspo: { except: CONSTANT_RATIO },
};

/** As in the reference, whose numbers count them; rows that a run adds, or that hold no answer, are unscored and do not count. */
const COUNTS_EMPTY_ROWS = { "padding rows change nothing": "α counts scored rows without tokens" };

for (const key of registries.adv_estimator.keys()) {
  const except = key === "gpg" ? { except: COUNTS_EMPTY_ROWS } : {};
  testAdvEst(key, { cases: casesOf(key), ...SPECIAL[key], ...except });
}
for (const key of registries.policy_loss.keys()) {
  const { cases: _, ...special } = SPECIAL[key] ?? {};
  testPolicyLoss(key, { cases: casesOf(key), ...special });
}
for (const key of registries.loss_agg.keys()) testLossAgg(key, { cases: casesOf(key) });
for (const key of registries.kl_penalty.keys()) testKlPenalty(key, { cases: casesOf(key) });
