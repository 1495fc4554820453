import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "@jest/globals";
import { parse } from "yaml";
import { cli } from "./helpers.ts";

const cwd = mkdtempSync(join(tmpdir(), "verl-cli-config-"));
writeFileSync(join(cwd, "run.yaml"), "trainer:\n  seed: 5\n  totl_epochs: 3\n");
writeFileSync(join(cwd, "good.yaml"), "trainer:\n  seed: 5\n");
afterAll(() => rmSync(cwd, { recursive: true }));

describe("verl config", () => {
  it("prints the whole config as YAML or JSON, from a file and overrides", async () => {
    const yaml = await cli(["config", "print", "good.yaml", "data.train_batch_size=512"], { cwd });
    expect(yaml).toMatchObject({ code: 0, stderr: "" });
    expect(parse(yaml.stdout)).toMatchObject({ trainer: { seed: 5 }, data: { train_batch_size: 512 } });
    const json = await cli(["config", "print", "--json", "--config-path", ".", "--config-name", "good", "~data.seed"], {
      cwd,
    });
    expect(JSON.parse(json.stdout)).toMatchObject({ trainer: { seed: 5 } });
  });

  it("prints origins", async () => {
    const { stdout } = await cli(["config", "print", "-c", "good.yaml", "--origin", "+algorithm.adv_kwargs.x=1"], {
      cwd,
    });
    expect(stdout).toMatch(/^trainer\.seed: 5 +# good\.yaml:2:9$/m);
    expect(stdout).toMatch(/^algorithm\.adv_kwargs\.x: 1 +# override \+algorithm\.adv_kwargs\.x=1$/m);
  });

  it("ends with code 2 and every problem on stderr", async () => {
    const { code, stdout, stderr } = await cli(["config", "validate", "run.yaml", "algorithm.adv_estimater=grpo"], {
      cwd,
    });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain("run.yaml:3:3  trainer.totl_epochs");
    expect(stderr).toContain("Did you mean `trainer.total_epochs`?");
    expect(stderr).toContain("Did you mean `algorithm.adv_estimator`?");
  });

  it.each(["config validate", "train"])(
    "%s ends with code 2 where a file that the run reads is not there",
    async (words) => {
      writeFileSync(join(cwd, "agents.yaml"), "agent_loops: [{ name: a, _target_: gateway_agent, path: none.ts }]\n");
      const rollout = "actor_rollout_ref.rollout";
      const options = [
        `${rollout}.agent.agent_loop_config_path=${join(cwd, "agents.yaml")}`,
        `${rollout}.multi_turn.tool_config_path=none.yaml`,
      ];
      const { code, stderr } = await cli([...words.split(" "), "good.yaml", ...options], { cwd });
      expect(code).toBe(2);
      expect(stderr).toContain('"none.ts", where there is no file');
      expect(stderr).toContain('The file "none.yaml" cannot be read');
    },
  );

  it("recognises a config of the other command, and names the command that prints its keys", async () => {
    const [train, sft] = ["sft.yaml", "grpo.yaml"].map((name) => `examples/sort-letters/${name}`) as [string, string];
    const first = (text: string) => text.slice(text.indexOf("1. "), text.indexOf("2. "));
    const other = await cli(["train", train]);
    expect(first(other.stderr)).toContain(
      "This is a config of `verl sft`, not of `verl train`: it has `model`, `optim`.",
    );
    expect(other.stderr).not.toContain("VERL_CONFIG_BATCH_SIZE");
    const { stderr } = await cli(["sft", sft]);
    expect(first(stderr)).toContain("This is a config of `verl train`, not of `verl sft`");
    expect(stderr).toContain("Run `verl config print --sft` for the keys");
    expect((await cli(["sft", "nonsense_key=1"])).stderr).toContain("`verl config print --sft`");
    expect((await cli(["train", "optim.lr=1"])).stderr).not.toContain("This is a config of");
  });

  it("says what is wrong as JSON too, with the same exit code", async () => {
    const good = await cli(["config", "validate", "--json", "good.yaml", "trainer.default_hdfs_dir=x"], { cwd });
    expect(good).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(good.stdout)).toMatchObject({ valid: true, problems: [], notes: [{ importance: "output" }] });
    const bad = await cli(["config", "validate", "--json", "run.yaml"], { cwd });
    expect(bad.code).toBe(2);
    expect(bad.stderr).toContain("trainer.totl_epochs");
    expect(JSON.parse(bad.stdout)).toMatchObject({
      valid: false,
      problems: [{ code: "VERL_CONFIG_KEY_UNKNOWN", location: { file: "run.yaml", line: 3 } }],
    });
  });

  it.each([
    [["good.yaml", "-c", "run.yaml"], "good.yaml, -c run.yaml"],
    [["good.yaml", "run.yaml"], "good.yaml, run.yaml"],
    [["-c", "good.yaml", "--config-name", "run"], "-c good.yaml, --config-name run"],
  ])("takes one file: %j", async (words, named) => {
    const { code, stderr } = await cli(["config", "validate", ...words], { cwd });
    expect(code).toBe(2);
    expect(stderr).toContain(`2 are named: ${named}.`);
  });

  it("explains an SFT config", async () => {
    const { code, stdout } = await cli(["config", "explain", "--sft", "good.yaml", "data.train_batch_size=64"], {
      cwd,
    });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^accumulation steps +16 /m);
    const json = await cli(["config", "explain", "--sft", "--json", "model.use_shm=true"], { cwd });
    expect(JSON.parse(json.stdout)).toMatchObject({ notes: [{ location: { override: "model.use_shm=true" } }] });
  });

  it("prints the commented defaults", async () => {
    const { stdout } = await cli(["config", "defaults", "--sft"], { cwd });
    expect(stdout).toBe(readFileSync(new URL("../../core/config/sft_trainer.yaml", import.meta.url), "utf8"));
  });
});

describe("verl schema", () => {
  it("prints the JSON Schema or writes it to a file", async () => {
    const { code, stdout } = await cli(["schema"], { cwd });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      $schema: "http://json-schema.org/draft-07/schema#",
      properties: { trainer: {} },
    });
    const written = await cli(["schema", "--sft", "--out", "sft.schema.json"], { cwd });
    expect(written.stderr).toContain("# yaml-language-server: $schema=sft.schema.json");
    expect(JSON.parse(readFileSync(join(cwd, "sft.schema.json"), "utf8"))).toMatchObject({ title: "verl sft" });
  });
});
