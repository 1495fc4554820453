import { describe, expect, it } from "@jest/globals";
import { loadConfig } from "../../core/config/load.ts";
import { registries, resolveOptions } from "../../core/registry/index.ts";
import { rewardManagers } from "../../plugins/reward-manager/index.ts";
import { load } from "./support.ts";

const rateLimited = rewardManagers.find(({ key }) => key === "rate_limited");

/** Splits a pasted command as a shell does: quotes, line continuations, no expansion. */
function argumentsOf(command: string): string[] {
  const words = command.replace(/\\\n/g, " ").match(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g) ?? [];
  const unquoted = words.map((word) =>
    word.replace(/'([^']*)'|"([^"]*)"/g, (_, single?: string, double?: string) => single ?? double ?? ""),
  );
  return unquoted.slice(unquoted.findIndex((word) => word.startsWith("verl.trainer.")) + 1);
}

const GSM8K_GRPO = String.raw`
python3 -m verl.trainer.main_ppo \
    algorithm.adv_estimator=grpo \
    data.train_files=/data/gsm8k/train.parquet \
    data.val_files=/data/gsm8k/test.parquet \
    data.train_batch_size=1024 data.max_prompt_length=512 data.max_response_length=1024 \
    data.filter_overlong_prompts=True data.truncation='error' \
    actor_rollout_ref.model.path=Qwen/Qwen3-8B \
    actor_rollout_ref.model.use_remove_padding=True \
    actor_rollout_ref.model.enable_gradient_checkpointing=True \
    actor_rollout_ref.actor.optim.lr=1e-6 \
    actor_rollout_ref.actor.ppo_mini_batch_size=256 \
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=32 \
    actor_rollout_ref.actor.use_kl_loss=True \
    actor_rollout_ref.actor.kl_loss_coef=0.001 \
    actor_rollout_ref.actor.kl_loss_type=low_var_kl \
    actor_rollout_ref.actor.entropy_coeff=0 \
    actor_rollout_ref.actor.fsdp_config.param_offload=False \
    actor_rollout_ref.actor.fsdp_config.optimizer_offload=False \
    ++actor_rollout_ref.actor.entropy_from_logits_with_chunking=True \
    actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=32 \
    actor_rollout_ref.rollout.tensor_model_parallel_size=2 \
    actor_rollout_ref.rollout.name=vllm \
    +actor_rollout_ref.rollout.engine_kwargs.vllm.disable_mm_preprocessor_cache=True \
    actor_rollout_ref.rollout.gpu_memory_utilization=0.6 \
    actor_rollout_ref.rollout.n=5 \
    actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=32 \
    actor_rollout_ref.ref.fsdp_config.param_offload=True \
    algorithm.use_kl_in_reward=False \
    trainer.critic_warmup=0 \
    trainer.logger='["console","wandb"]' \
    trainer.project_name='verl_grpo_example_gsm8k' trainer.experiment_name='qwen3_8b_function_rm' \
    trainer.n_gpus_per_node=8 trainer.nnodes=1 trainer.device=cuda \
    trainer.save_freq=20 trainer.test_freq=5 trainer.total_epochs=15`;

const PPO = String.raw`
python3 -m verl.trainer.main_ppo \
    algorithm.adv_estimator=gae \
    data.train_files=/data/gsm8k/train.parquet data.val_files=/data/gsm8k/test.parquet \
    data.train_batch_size=1024 data.max_prompt_length=512 data.max_response_length=512 \
    data.return_raw_chat=True \
    actor_rollout_ref.model.path=deepseek-ai/deepseek-llm-7b-chat \
    actor_rollout_ref.actor.optim.lr=1e-6 \
    actor_rollout_ref.actor.strategy=fsdp2 \
    actor_rollout_ref.actor.ppo_mini_batch_size=256 \
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=16 \
    actor_rollout_ref.actor.ulysses_sequence_parallel_size=2 \
    actor_rollout_ref.actor.use_torch_compile=False \
    actor_rollout_ref.rollout.name=sglang \
    actor_rollout_ref.rollout.max_num_batched_tokens=16384 \
    critic.optim.lr=1e-5 \
    critic.model.use_remove_padding=True \
    critic.model.path=deepseek-ai/deepseek-llm-7b-chat \
    critic.model.enable_gradient_checkpointing=True \
    critic.ppo_micro_batch_size_per_gpu=32 \
    critic.model.fsdp_config.param_offload=False \
    reward_model.sandbox_fusion.url=https://example.org/run \
    reward_model.sandbox_fusion.max_concurrent=128 \
    reward_model.reward_manager=prime \
    trainer.critic_warmup=0 trainer.logger=['console','wandb'] \
    trainer.val_before_train=False trainer.resume_mode=disable \
    trainer.n_gpus_per_node=8 trainer.nnodes=1 trainer.total_epochs=15 \
    ray_kwargs.ray_init.num_cpus=32 global_profiler.steps=[1,2]`;

const MATH = String.raw`
python3 -m verl.trainer.main_ppo --config-path=./config --config-name='ppo_megatron_trainer.yaml' \
    algorithm.adv_estimator=grpo \
    data.train_files="['/data/gsm8k/train.parquet', '/data/math/train.parquet']" \
    data.val_files="['/data/gsm8k/test.parquet', '/data/math/test.parquet']" \
    data.train_batch_size=512 data.gen_batch_size=1536 \
    data.max_prompt_length=2048 data.max_response_length=8192 \
    data.apply_chat_template_kwargs.enable_thinking=False \
    actor_rollout_ref.model.path=Qwen/Qwen2.5-Math-7B \
    +actor_rollout_ref.model.override_config.attention_dropout=0. \
    actor_rollout_ref.actor.clip_ratio_low=0.2 actor_rollout_ref.actor.clip_ratio_high=0.28 \
    actor_rollout_ref.actor.loss_agg_mode=token-mean \
    actor_rollout_ref.actor.policy_loss.loss_mode=gspo \
    actor_rollout_ref.actor.use_dynamic_bsz=True actor_rollout_ref.actor.ppo_max_token_len_per_gpu=20480 \
    actor_rollout_ref.actor.ppo_mini_batch_size=32 \
    actor_rollout_ref.actor.optim.lr_warmup_steps=10 actor_rollout_ref.actor.optim.weight_decay=0.1 \
    actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2 \
    actor_rollout_ref.actor.megatron.optimizer_offload=True \
    actor_rollout_ref.rollout.n=16 actor_rollout_ref.rollout.top_k=-1 \
    actor_rollout_ref.rollout.val_kwargs.temperature=1.0 actor_rollout_ref.rollout.val_kwargs.do_sample=True \
    actor_rollout_ref.rollout.multi_turn.enable=True actor_rollout_ref.rollout.multi_turn.max_turns=4 \
    algorithm.filter_groups.enable=True algorithm.filter_groups.metric=acc +algorithm.filter_groups.max_num_gen_batches=10 \
    algorithm.rollout_correction.rollout_is=token \
    reward_model.reward_manager=dapo \
    +reward_model.reward_kwargs.overlong_buffer_cfg.enable=True \
    +reward_model.reward_kwargs.overlong_buffer_cfg.len=4096 \
    +reward_model.reward_kwargs.max_resp_len=8192 \
    custom_reward_function.path=reward.py \
    trainer.default_local_dir=/ckpts/dapo trainer.n_gpus_per_node=8 trainer.nnodes=2`;

const JUDGE = String.raw`
python3 -m verl.trainer.main_ppo \
    data.train_files=/data/train.parquet data.val_files=null \
    actor_rollout_ref.model.path=Qwen/Qwen3-8B \
    reward_model.reward_manager=rate_limited \
    +reward_model.max_concurrent=16 +reward_model.max_rpm=1000 +reward_model.max_tpm=120000 \
    +reward_model.estimated_tokens_per_request=3000 +reward_model.timeout=60 \
    custom_reward_function.path=judge.ts \
    reward_model.sandbox_fusion.url=null trainer.n_gpus_per_node=1`;

/** verl 0.8 and later. */
const REWARD_SECTION = JUDGE.replace("reward_model.reward_manager=", "reward.reward_manager.name=")
  .replaceAll("+reward_model.", "+reward.")
  .replace("custom_reward_function.path", "reward.custom_reward_function.path")
  .replace("reward_model.sandbox_fusion", "reward.sandbox_fusion");

function paste(command: string) {
  const words = argumentsOf(command);
  const flag = (name: string) => words.find((word) => word.startsWith(`--${name}=`))?.split("=")[1];
  return loadConfig({
    schema: "ppo",
    configPath: flag("config-path"),
    configName: flag("config-name"),
    overrides: words.filter((word) => !word.startsWith("--")),
    env: {},
  });
}

describe("pasted command lines of verl", () => {
  it("reads the GSM8K GRPO recipe", () => {
    const { config, notes } = paste(GSM8K_GRPO);
    expect(config.algorithm.adv_estimator).toBe("grpo");
    expect(config.data).toMatchObject({ train_files: ["/data/gsm8k/train.parquet"], filter_overlong_prompts: true });
    expect(config.actor_rollout_ref.actor).toMatchObject({
      use_kl_loss: true,
      ppo_micro_batch_size_per_gpu: 32,
      optim: { lr: 1e-6 },
    });
    expect(config.trainer).toMatchObject({ logger: ["console", "wandb"], n_gpus_per_node: 8, total_epochs: 15 });
    expect(notes.map(({ location }) => location.path)).toEqual([
      "actor_rollout_ref.model.use_remove_padding",
      "actor_rollout_ref.model.enable_gradient_checkpointing",
      "actor_rollout_ref.actor.fsdp_config",
      "actor_rollout_ref.actor.entropy_from_logits_with_chunking",
      "actor_rollout_ref.ref.fsdp_config",
      "actor_rollout_ref.rollout.engine_kwargs.vllm",
      "actor_rollout_ref.rollout.tensor_model_parallel_size",
      "actor_rollout_ref.rollout.gpu_memory_utilization",
    ]);
  });

  it("reads the PPO recipe with a critic", () => {
    const { config, notes } = paste(PPO);
    expect(config.critic).toMatchObject({
      optim: { lr: 1e-5 },
      ppo_micro_batch_size_per_gpu: 32,
      ppo_mini_batch_size: 256,
    });
    expect(config.trainer).toMatchObject({
      logger: ["console", "wandb"],
      val_before_train: false,
      resume_mode: "disable",
    });
    expect(notes.map(({ location }) => location.path)).toContain("ray_kwargs");
    expect(notes.every(({ location }) => location.override !== undefined)).toBe(true);
  });

  it.each([
    ["beside the reward manager", JUDGE],
    ["in the section of newer versions", REWARD_SECTION],
  ])("reads the limits of a judge %s as options of `rate_limited`", (_, command) => {
    const { config, notes } = paste(command);
    const { reward_manager, reward_kwargs } = config.reward_model;
    const limits = {
      max_concurrent: 16,
      max_rpm: 1000,
      max_tpm: 120000,
      estimated_tokens_per_request: 3000,
      timeout: 60,
    };
    expect([reward_manager, reward_kwargs]).toEqual(["rate_limited", limits]);
    registries.reward_manager.register("rate_limited", rateLimited!.entry);
    expect(resolveOptions("reward_manager", reward_manager, reward_kwargs)).toMatchObject(limits);
    // What verl sets to null is not set.
    expect(config.custom_reward_function).toEqual({ path: "judge.ts", name: "compute_score", reward_kwargs: {} });
    expect(new Set(notes.map(({ importance }) => importance))).toEqual(new Set(["spelling"]));
    expect(notes.map(({ message }) => message)).toContainEqual(
      expect.stringMatching(/^`reward(_model)?\.max_rpm` is now `reward_model\.reward_kwargs\.max_rpm`\.$/),
    );
  });

  it("reads the reward section of verl 0.8 as it stands in its file", () => {
    const yaml = `
reward:
  _target_: verl.workers.config.RewardConfig
  num_workers: 8
  custom_reward_function: { path: null, name: compute_score }
  compute_score_kwargs: { method: flexible }
  reward_manager:
    _target_: verl.workers.config.reward.RewardManagerConfig
    source: register
    name: naive
    module: { _target_: verl.trainer.config.config.ModuleConfig, path: null, name: custom_reward_manager }
  reward_model:
    _target_: verl.workers.config.RewardModelConfig
    enable: False
    enable_resource_pool: False
    n_gpus_per_node: 8
    nnodes: 0
    model_path: null
    rollout: { _target_: verl.workers.config.RolloutConfig, name: vllm, engine_kwargs: {} }
  sandbox_fusion:
    _target_: verl.workers.config.SandboxFusionConfig
    url: http://127.0.0.1:8080/run_code
    max_concurrent: 64
    memory_limit_mb: 1024
`;
    const { config, notes } = load([], yaml);
    expect(config.custom_reward_function.reward_kwargs).toEqual({
      method: "flexible",
      sandbox_fusion_url: "http://127.0.0.1:8080/run_code",
      max_concurrent: 64,
      memory_limit_mb: 1024,
    });
    expect(config.reward_model).toMatchObject({ enable: false, reward_manager: "naive", num_workers: 8 });
    expect(new Set(notes.map(({ importance }) => importance))).toEqual(new Set(["cost", "spelling"]));
  });

  it("reads the math recipe with plugin options and two files", () => {
    const { config, notes } = paste(MATH);
    expect(config.data.train_files).toEqual(["/data/gsm8k/train.parquet", "/data/math/train.parquet"]);
    expect(config.data.apply_chat_template_kwargs).toEqual({ enable_thinking: false });
    expect(config.reward_model.reward_kwargs).toEqual({
      overlong_buffer_cfg: { enable: true, len: 4096 },
      max_resp_len: 8192,
    });
    expect(config.algorithm).toMatchObject({
      filter_groups: { enable: true, metric: "acc", max_num_gen_batches: 10 },
      rollout_correction: { rollout_is: "token" },
    });
    expect(config.actor_rollout_ref.rollout.multi_turn.max_assistant_turns).toBe(4);
    expect(notes).toHaveLength(2);
  });
});
