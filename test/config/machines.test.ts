import { describe, expect, it } from "@jest/globals";
import { loadRunConfig } from "../../core/config/run-config.ts";
import { isVerlError } from "../../core/errors/index.ts";
import type { SchemaName } from "../../core/config/schema/index.ts";
import { registries } from "../../core/registry/index.ts";

/** Which keys ask for machines that the transport does not have. */
async function refused(schema: SchemaName, overrides: readonly string[]): Promise<unknown[]> {
  const files =
    schema === "ppo" ? ["data.train_files=a.jsonl", "data.val_files=b.jsonl"] : ["data.train_files=a.jsonl"];
  try {
    const cluster = "controller.ray.address=10.0.0.5:6379";
    await loadRunConfig({ schema, overrides: [...files, cluster, ...overrides], env: {} });
    return [];
  } catch (error) {
    if (!isVerlError(error)) throw error;
    const { problems } = error.details as { problems: { location: { path: string } }[] };
    return problems.map(({ location }) => location.path);
  }
}

const APART = ["actor_rollout_ref.hybrid_engine=false", "actor_rollout_ref.rollout.nnodes=2"];
const POOLS = ["controller.resource_pool_spec={critic_pool: [1, 1]}", "controller.role_mapping.critic=critic_pool"];

describe("a config of several machines", () => {
  it.each([
    ["ppo", "inline", ["trainer.nnodes=2"], ["trainer.nnodes"]],
    ["ppo", "thread", ["trainer.nnodes=2"], ["trainer.nnodes"]],
    ["sft", "thread", ["trainer.nnodes=2"], ["trainer.nnodes"]],
    ["ppo", "thread", APART, ["actor_rollout_ref.rollout.nnodes"]],
    ["ppo", "thread", POOLS, ["controller.resource_pool_spec"]],
    ["ppo", "ray", ["trainer.nnodes=2", ...APART, ...POOLS], []],
    ["sft", "ray", ["trainer.nnodes=2"], []],
    ["ppo", "thread", ["trainer.n_gpus_per_node=2", "actor_rollout_ref.rollout.nnodes=2"], []],
  ] as const)("of %s on the transport %s: %j", async (schema, transport, overrides, paths) => {
    expect(await refused(schema, [`controller.transport=${transport}`, ...overrides])).toEqual(paths);
  });

  it("is refused in words that say what is allowed", async () => {
    const attempt = loadRunConfig({
      schema: "sft",
      overrides: ["data.train_files=a.jsonl", "trainer.nnodes=2"],
      env: {},
    });
    await expect(attempt).rejects.toMatchObject({
      code: "VERL_CONFIG_VALUE",
      message: expect.stringMatching(
        /^`trainer\.nnodes` asks for 2 machines, but the transport "inline" runs every rank on this one\./,
      ),
      hint: "Set controller.transport to ray for several machines, or trainer.nnodes to 1.",
      location: { override: "trainer.nnodes=2" },
    });
  });

  it("is left to a plugin's transport, which may reach several", async () => {
    const { entry } = registries.transport.find("ray");
    registries.transport.register("test-far", { ...entry, description: "Reaches other machines in its own way." });
    expect(await refused("ppo", ["controller.transport=test-far", "trainer.nnodes=2"])).toEqual([]);
  });
});
