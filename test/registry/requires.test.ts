import { beforeEach, expect, it } from "@jest/globals";
import { checkRequires, registerAdvEst, registerPolicyLoss, registries } from "../../core/registry/index.ts";
import { clearRegistries, estimator, failure, loss } from "./helpers.ts";

beforeEach(() => {
  clearRegistries();
  registerAdvEst("gae", estimator({ requires: ["values"] }), { source: "verl@0.1.0" });
  registerPolicyLoss("mine", loss({ requires: ["values", "margins"] }), { source: "verl-plugin-x@1.0.0" });
});

const chosen = () => [registries.adv_estimator.find("gae"), registries.policy_loss.find("mine")];

it("is content when every field will be there", () => {
  expect(() => checkRequires(chosen(), ["values", "margins", "responses"])).not.toThrow();
});

it("names who asks for what, and what would supply it", async () => {
  const error = await failure(() =>
    checkRequires(chosen(), ["responses"], { values: "a critic does; set `critic.enable=true`." }),
  );
  expect(error.code).toBe("VERL_FIELD_MISSING");
  expect(error.message.split("\n")).toEqual([
    'The advantage estimator "gae" (verl@0.1.0) requires the batch field `values`, which this run does not have.',
    'The policy loss "mine" (verl-plugin-x@1.0.0) requires the batch field `values`, which this run does not have.',
    'The policy loss "mine" (verl-plugin-x@1.0.0) requires the batch field `margins`, which this run does not have.',
  ]);
  expect(error.hint).toContain("`values`: a critic does; set `critic.enable=true`.");
  expect(error.hint).toContain("`margins`: no part of this run supplies it");
  expect(error.location?.path).toBe("algorithm.adv_estimator");
});
