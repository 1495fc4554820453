import { describe, expect, it } from "@jest/globals";
import { usesCritic } from "../../core/config/uses-critic.ts";
import { registries } from "../../core/registry/index.ts";
import { gae } from "../../plugins/advantage/gae.ts";
import { load } from "./support.ts";

const of = (...overrides: string[]) => usesCritic(load(overrides).config);

describe("usesCritic", () => {
  it("follows what the advantage estimator reads, built-in or not", () => {
    expect(of("algorithm.adv_estimator=gae")).toBe(true);
    expect(of("algorithm.adv_estimator=grpo")).toBe(false);
    registries.adv_estimator.register("test-values", gae);
    registries.adv_estimator.register("test-none", { ...gae, requires: [] });
    expect(of("algorithm.adv_estimator=test-values")).toBe(true);
    expect(of("algorithm.adv_estimator=test-none")).toBe(false);
  });

  it("obeys `critic.enable`", () => {
    expect(of("algorithm.adv_estimator=grpo", "critic.enable=true")).toBe(true);
    expect(of("algorithm.adv_estimator=gae", "critic.enable=false")).toBe(false);
  });
});
