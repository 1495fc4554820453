import { execFileSync } from "node:child_process";
import { describe, expect, it } from "@jest/globals";
import { readPastedLine } from "../../core/cli/pasted-line.ts";
import { cli } from "./helpers.ts";

/** The words that bash gives to a program that is called like this. */
function shell(line: string): string[] {
  const text = execFileSync("bash", ["-c", `verl() { printf '%s\\0' "$@"; }\n${line}`], { encoding: "utf8" });
  return text.split("\0").slice(0, -1);
}

/** The config of a pasted line, and what was told of it. */
async function paste(line: string): Promise<{ config: Record<string, never>; stderr: string }> {
  const { code, stdout, stderr } = await cli(["config", "print", "--json", ...shell(line)]);
  expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });
  return { config: JSON.parse(stdout) as Record<string, never>, stderr };
}

const GRPO = String.raw`
    algorithm.adv_estimator=grpo \
    data.train_files=$HOME/data/gsm8k/train.parquet \
    data.train_batch_size=1024 \
    actor_rollout_ref.rollout.n=5 \
    actor_rollout_ref.actor.fsdp_config.param_offload=False \
    trainer.logger='["console","wandb"]' \
    trainer.total_epochs=15`.trimStart();

describe("a pasted line that starts Python", () => {
  it("reads the line of verl's examples, with the script's own arguments", async () => {
    const { config, stderr } = await paste(`verl python3 -m verl.trainer.main_ppo ${GRPO} $@`);
    expect(config).toMatchObject({
      algorithm: { adv_estimator: "grpo" },
      data: { train_files: [`${process.env["HOME"]}/data/gsm8k/train.parquet`] },
      actor_rollout_ref: { rollout: { n: 5 } },
      trainer: { logger: ["console", "wandb"], total_epochs: 15 },
    });
    expect(stderr).toBe("Note: Left out of the pasted line: `python3 -m verl.trainer.main_ppo`.\n");
  });

  it.each([
    ["main_ppo", "`main_ppo`"],
    ["verl.trainer.main_ppo", "`verl.trainer.main_ppo`"],
    ["-m verl.trainer.main_ppo", "`-m verl.trainer.main_ppo`"],
    ["python -u verl/trainer/main_ppo.py", "`python -u verl/trainer/main_ppo.py`"],
    ["/opt/venv/bin/python3.11 -m recipe.dapo.main_dapo", "`/opt/venv/bin/python3.11 -m recipe.dapo.main_dapo`"],
    ["python3 -m my_project.train_agent", "`python3 -m my_project.train_agent`"],
    [
      "PYTHONUNBUFFERED=1 WANDB_API_KEY=secret python3 -m verl.trainer.main_ppo",
      "`python3 -m verl.trainer.main_ppo`; the variables PYTHONUNBUFFERED, WANDB_API_KEY",
    ],
    ["HYDRA_FULL_ERROR=1", "the variable HYDRA_FULL_ERROR"],
    [
      `ray job submit --address=http://10.0.0.1:8265 --runtime-env-json '{"env_vars":{"KEY":"secret"}}' -- python3 -m verl.trainer.main_ppo`,
      "`ray job submit --address=… --runtime-env-json {…} -- python3 -m verl.trainer.main_ppo`",
    ],
  ])("leaves %s out, and tells no value of it", async (start, told) => {
    const { config, stderr } = await paste(`verl ${start} ${GRPO}`);
    expect(config).toMatchObject({ algorithm: { adv_estimator: "grpo" }, trainer: { total_epochs: 15 } });
    expect(stderr).toBe(`Note: Left out of the pasted line: ${told}.\n`);
  });

  it("keeps the four operations, lists, maps and Hydra's file options", async () => {
    const { config } = await paste(String.raw`verl python3 -m verl.trainer.main_ppo \
      --config-path=./config --config-name='ppo_megatron_trainer.yaml' \
      data.train_files="['/data/a.parquet', '/data/b.parquet']" \
      +actor_rollout_ref.model.override_config.attention_dropout=0. \
      ++reward_model.reward_kwargs='{max_resp_len: 8192}' \
      ~data.seed`);
    expect(config).toMatchObject({
      data: { train_files: ["/data/a.parquet", "/data/b.parquet"], seed: null },
      actor_rollout_ref: { model: { override_config: { attention_dropout: 0 } } },
      reward_model: { reward_kwargs: { max_resp_len: 8192 } },
    });
    expect(readPastedLine(["-cn", "x", "-cp=conf"], "train").args).toEqual([
      "--config-name",
      "x",
      "--config-path",
      "conf",
    ]);
  });

  it("drops what a shell should have taken away: backslashes, line ends, its own arguments", () => {
    const words = ["python3", "-m", "verl.trainer.main_ppo", "\\", "a=1\r", "\r", " ", "\\\nb=2", '"$@"', "${@}"];
    expect(readPastedLine(words, "train")).toEqual({
      args: ["a=1", "b=2"],
      dropped: [
        "`python3 -m verl.trainer.main_ppo`",
        "backslashes at ends of lines",
        '"$@", which stands for no argument here',
      ],
    });
  });

  it("leaves every other line as it is", () => {
    const words = [
      "-c",
      "run.yaml",
      "algorithm.adv_estimator=rloo",
      "custom_reward_function.path=main_ppo.py",
      "--seed",
      "1",
    ];
    expect(readPastedLine(words, "train")).toEqual({ args: words, dropped: [] });
    expect(readPastedLine(["--config-name", "sft_trainer"], "train").dropped).toEqual([]);
  });

  it("reads a line of the SFT trainer after `verl sft`, and says so elsewhere", async () => {
    const line = "torchrun --standalone --nproc_per_node=8 -m verl.trainer.fsdp_sft_trainer data.train_batch_size=64";
    const { stdout } = await cli(["config", "print", "--sft", "--json", ...shell(`verl ${line}`)]);
    expect(JSON.parse(stdout)).toMatchObject({ data: { train_batch_size: 64 } });
    const { code, stderr } = await cli(["train", ...shell(`verl ${line}`)]);
    expect(code).toBe(2);
    expect(stderr).toContain("which is what `verl sft` does");
  });

  it.each([
    ["verl bash run_qwen.sh", "Paste the line inside of it"],
    ["verl python3 -m verl.trainer.main_generation a=1", "no counterpart"],
    ["verl main_ppo --multirun", "There are no sweeps"],
    ["verl main_ppo --cfg job", "verl config print"],
    ["verl main_ppo trainer.default_local_dir='$CKPTS/a'", "The shell has not replaced `$CKPTS`"],
    ["verl main_ppo trainer.default_local_dir='${CKPTS}/a'", "${oc.env:CKPTS}"],
    ["verl main_ppo trainer.default_local_dir='${CKPTS:-out}/a'", "${oc.env:CKPTS,out}"],
  ])("explains %s", async (line, words) => {
    const { code, stderr } = await cli(["config", "print", ...shell(line)]);
    expect(code).toBe(2);
    expect(stderr).toContain(words);
  });
});
