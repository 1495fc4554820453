import { describe, expect, it } from "@jest/globals";
import { importanceOf, CHANGES_OUTPUT, CHANGES_RESULTS, WITHOUT_EFFECT } from "../../core/config/verl-keys.ts";
import { showExplanation } from "../../core/config/explain.ts";
import { DEFAULT, fromValue, parsePath } from "../../core/config/tree.ts";
import { load } from "./support.ts";

/** The keys of verl's PPO tree and of its older versions, with verl's defaults or values of its examples. */
const VERL = `
data.tokenizer=null data.use_shm=False data.train_files=a.parquet data.val_files=b.parquet data.train_max_samples=-1
data.val_max_samples=-1 data.prompt_key=prompt data.reward_fn_key=data_source data.max_prompt_length=512
data.max_response_length=512 data.train_batch_size=1024 data.val_batch_size=null data.tool_config_path=null
data.return_raw_input_ids=False data.return_raw_chat=True data.return_full_prompt=False data.shuffle=True
data.seed=null data.dataloader_num_workers=8 data.image_patch_size=14 data.validation_shuffle=False
data.filter_overlong_prompts=False data.filter_overlong_prompts_workers=1 data.truncation=error
data.image_key=images data.video_key=videos data.trust_remote_code=False data.custom_cls.path=null
data.custom_cls.name=null data.return_multi_modal_inputs=True data.sampler.class_path=null
data.sampler.class_name=null data.datagen.path=null data.datagen.name=null
+data.apply_chat_template_kwargs.enable_thinking=False data.gen_batch_size=1 actor_rollout_ref.hybrid_engine=True
actor_rollout_ref.nccl_timeout=600 actor_rollout_ref.model.path=x actor_rollout_ref.model.hf_config_path=null
actor_rollout_ref.model.tokenizer_path=null actor_rollout_ref.model.use_shm=False
actor_rollout_ref.model.trust_remote_code=False actor_rollout_ref.model.custom_chat_template=null
actor_rollout_ref.model.external_lib=null +actor_rollout_ref.model.override_config.attention_dropout=0.
actor_rollout_ref.model.enable_gradient_checkpointing=True actor_rollout_ref.model.enable_activation_offload=False
actor_rollout_ref.model.use_remove_padding=True actor_rollout_ref.model.lora_rank=0
actor_rollout_ref.model.lora_alpha=16 actor_rollout_ref.model.target_modules=all-linear
actor_rollout_ref.model.exclude_modules=null actor_rollout_ref.model.lora_adapter_path=null
actor_rollout_ref.model.use_liger=False actor_rollout_ref.model.use_fused_kernels=False
actor_rollout_ref.model.fused_kernel_options.impl_backend=torch actor_rollout_ref.model.tiled_mlp.enabled=False
actor_rollout_ref.model.tiled_mlp.num_shards=4 actor_rollout_ref.model.mtp.enable=False
actor_rollout_ref.actor.rollout_n=1 actor_rollout_ref.actor.strategy=fsdp
actor_rollout_ref.actor.ppo_mini_batch_size=256 actor_rollout_ref.actor.ppo_micro_batch_size=null
actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=null actor_rollout_ref.actor.use_dynamic_bsz=False
actor_rollout_ref.actor.ppo_max_token_len_per_gpu=16384 actor_rollout_ref.actor.clip_ratio=0.2
actor_rollout_ref.actor.clip_ratio_low=0.2 actor_rollout_ref.actor.clip_ratio_high=0.2
actor_rollout_ref.actor.tau_pos=1.0 actor_rollout_ref.actor.tau_neg=1.05
actor_rollout_ref.actor.freeze_vision_tower=False actor_rollout_ref.actor.policy_loss.loss_mode=vanilla
actor_rollout_ref.actor.policy_loss.clip_cov_ratio=0.0002 actor_rollout_ref.actor.policy_loss.clip_cov_lb=1.0
actor_rollout_ref.actor.policy_loss.clip_cov_ub=5.0 actor_rollout_ref.actor.policy_loss.kl_cov_ratio=0.0002
actor_rollout_ref.actor.policy_loss.ppo_kl_coef=0.1 actor_rollout_ref.actor.clip_ratio_c=3.0
actor_rollout_ref.actor.loss_agg_mode=token-mean actor_rollout_ref.actor.loss_scale_factor=null
actor_rollout_ref.actor.entropy_coeff=0 actor_rollout_ref.actor.calculate_entropy=False
actor_rollout_ref.actor.use_kl_loss=False actor_rollout_ref.actor.use_prefix_grouper=False
actor_rollout_ref.actor.use_torch_compile=True actor_rollout_ref.actor.kl_loss_coef=0.001
actor_rollout_ref.actor.kl_loss_type=low_var_kl actor_rollout_ref.actor.ppo_epochs=1
actor_rollout_ref.actor.shuffle=False actor_rollout_ref.actor.data_loader_seed=42
actor_rollout_ref.actor.checkpoint.save_contents=[model,optimizer,extra]
actor_rollout_ref.actor.checkpoint.load_contents=\${.save_contents}
actor_rollout_ref.actor.checkpoint.async_save=False actor_rollout_ref.actor.use_fused_kernels=False
actor_rollout_ref.actor.grad_clip=1.0 actor_rollout_ref.actor.ulysses_sequence_parallel_size=1
actor_rollout_ref.actor.entropy_from_logits_with_chunking=False actor_rollout_ref.actor.entropy_checkpointing=False
actor_rollout_ref.actor.use_remove_padding=True actor_rollout_ref.actor.calculate_sum_pi_squared=False
actor_rollout_ref.actor.sum_pi_squared_checkpointing=False actor_rollout_ref.actor.router_replay.mode=disabled
actor_rollout_ref.actor.router_replay.record_file=null actor_rollout_ref.actor.router_replay.replay_file=null
actor_rollout_ref.actor.use_rollout_log_probs=False actor_rollout_ref.actor.optim.lr=1e-6
actor_rollout_ref.actor.optim.optimizer=AdamW actor_rollout_ref.actor.optim.optimizer_impl=torch.optim
actor_rollout_ref.actor.optim.lr_warmup_steps_ratio=0.0 actor_rollout_ref.actor.optim.total_training_steps=-1
actor_rollout_ref.actor.optim.weight_decay=0.01 actor_rollout_ref.actor.optim.lr_warmup_steps=-1
actor_rollout_ref.actor.optim.betas=[0.9,0.999] actor_rollout_ref.actor.optim.clip_grad=1.0
actor_rollout_ref.actor.optim.min_lr_ratio=0.0 actor_rollout_ref.actor.optim.num_cycles=0.5
actor_rollout_ref.actor.optim.lr_scheduler_type=constant actor_rollout_ref.actor.optim.warmup_style=null
actor_rollout_ref.actor.optim.override_optimizer_config=null
actor_rollout_ref.actor.fsdp_config.wrap_policy.min_num_params=0
actor_rollout_ref.actor.fsdp_config.param_offload=False actor_rollout_ref.actor.fsdp_config.dtype=bfloat16
actor_rollout_ref.actor.profiler.enable=False actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2
actor_rollout_ref.actor.load_weight=True actor_rollout_ref.ref.strategy=fsdp
actor_rollout_ref.ref.use_torch_compile=True actor_rollout_ref.ref.rollout_n=1
actor_rollout_ref.ref.log_prob_micro_batch_size=null actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=null
actor_rollout_ref.ref.log_prob_use_dynamic_bsz=False actor_rollout_ref.ref.log_prob_max_token_len_per_gpu=16384
actor_rollout_ref.ref.profiler.enable=False actor_rollout_ref.ref.router_replay.mode=disabled
actor_rollout_ref.ref.ulysses_sequence_parallel_size=1 actor_rollout_ref.ref.entropy_from_logits_with_chunking=False
actor_rollout_ref.ref.entropy_checkpointing=False actor_rollout_ref.ref.fsdp_config.param_offload=True
actor_rollout_ref.ref.model.path=x actor_rollout_ref.ref.megatron.param_offload=True
actor_rollout_ref.ref.load_weight=True actor_rollout_ref.rollout.name=vllm actor_rollout_ref.rollout.mode=async
actor_rollout_ref.rollout.temperature=1.0 actor_rollout_ref.rollout.top_k=-1 actor_rollout_ref.rollout.top_p=1
actor_rollout_ref.rollout.prompt_length=512 actor_rollout_ref.rollout.response_length=512
actor_rollout_ref.rollout.dtype=bfloat16 actor_rollout_ref.rollout.gpu_memory_utilization=0.5
actor_rollout_ref.rollout.ignore_eos=False actor_rollout_ref.rollout.enforce_eager=False
actor_rollout_ref.rollout.cudagraph_capture_sizes=null actor_rollout_ref.rollout.free_cache_engine=True
actor_rollout_ref.rollout.tensor_model_parallel_size=2 actor_rollout_ref.rollout.data_parallel_size=1
actor_rollout_ref.rollout.expert_parallel_size=1 actor_rollout_ref.rollout.pipeline_model_parallel_size=1
actor_rollout_ref.rollout.max_num_batched_tokens=8192 actor_rollout_ref.rollout.max_model_len=null
actor_rollout_ref.rollout.max_num_seqs=256 actor_rollout_ref.rollout.enable_chunked_prefill=True
actor_rollout_ref.rollout.enable_prefix_caching=True actor_rollout_ref.rollout.logprobs_mode=processed_logprobs
actor_rollout_ref.rollout.scheduling_policy=fcfs actor_rollout_ref.rollout.load_format=dummy
actor_rollout_ref.rollout.log_prob_micro_batch_size=null
actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=null
actor_rollout_ref.rollout.log_prob_use_dynamic_bsz=False
actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu=16384 actor_rollout_ref.rollout.disable_log_stats=True
actor_rollout_ref.rollout.do_sample=True actor_rollout_ref.rollout.n=1 actor_rollout_ref.rollout.over_sample_rate=0
actor_rollout_ref.rollout.multi_stage_wake_up=False actor_rollout_ref.rollout.engine_kwargs.vllm={}
+actor_rollout_ref.rollout.engine_kwargs.vllm.disable_mm_preprocessor_cache=True
actor_rollout_ref.rollout.engine_kwargs.sglang={} actor_rollout_ref.rollout.engine_kwargs.trtllm={}
actor_rollout_ref.rollout.val_kwargs.top_k=-1 actor_rollout_ref.rollout.val_kwargs.top_p=1.0
actor_rollout_ref.rollout.val_kwargs.temperature=0 actor_rollout_ref.rollout.val_kwargs.n=1
actor_rollout_ref.rollout.val_kwargs.do_sample=False actor_rollout_ref.rollout.multi_turn.enable=False
actor_rollout_ref.rollout.multi_turn.max_assistant_turns=null
actor_rollout_ref.rollout.multi_turn.tool_config_path=null actor_rollout_ref.rollout.multi_turn.max_user_turns=null
actor_rollout_ref.rollout.multi_turn.max_parallel_calls=1
actor_rollout_ref.rollout.multi_turn.max_tool_response_length=256
actor_rollout_ref.rollout.multi_turn.tool_response_truncate_side=middle
actor_rollout_ref.rollout.multi_turn.interaction_config_path=null
actor_rollout_ref.rollout.multi_turn.use_inference_chat_template=False
actor_rollout_ref.rollout.multi_turn.tokenization_sanity_check_mode=strict
actor_rollout_ref.rollout.multi_turn.format=hermes actor_rollout_ref.rollout.multi_turn.num_repeat_rollouts=null
actor_rollout_ref.rollout.multi_turn.completion_callback=null actor_rollout_ref.rollout.calculate_log_probs=False
actor_rollout_ref.rollout.agent.num_workers=8 actor_rollout_ref.rollout.agent.default_agent_loop=single_turn_agent
actor_rollout_ref.rollout.agent.agent_loop_config_path=null
actor_rollout_ref.rollout.agent.custom_async_server.path=null
actor_rollout_ref.rollout.agent.custom_async_server.name=null
actor_rollout_ref.rollout.agent.agent_loop_manager_class=null
actor_rollout_ref.rollout.checkpoint_engine.backend=naive
actor_rollout_ref.rollout.checkpoint_engine.update_weights_bucket_megabytes=2048
actor_rollout_ref.rollout.trace.backend=null actor_rollout_ref.rollout.trace.token2text=False
actor_rollout_ref.rollout.trace.max_samples_per_step_per_worker=null actor_rollout_ref.rollout.skip_rollout=False
actor_rollout_ref.rollout.skip_dump_dir=/tmp/rollout_dump actor_rollout_ref.rollout.skip_tokenizer_init=True
actor_rollout_ref.rollout.enable_rollout_routing_replay=False actor_rollout_ref.rollout.profiler.enable=False
actor_rollout_ref.rollout.prometheus.enable=False actor_rollout_ref.rollout.quantization=null
actor_rollout_ref.rollout.quantization_config_file=null actor_rollout_ref.rollout.mtp.enable=False
actor_rollout_ref.rollout.layered_summon=False actor_rollout_ref.rollout.repetition_penalty=1.0
actor_rollout_ref.rollout.enable_sleep_mode=True actor_rollout_ref.rollout.server.timeout=60
actor_rollout_ref.rollout.update_weights_bucket_megabytes=512 actor_rollout_ref.rollout.limit_images=null
actor_rollout_ref.rollout.swap_space=4 actor_rollout_ref.rollout.nnodes=0
actor_rollout_ref.rollout.n_gpus_per_node=8 actor_rollout_ref.rollout.use_fire_sampling=False critic.enable=null
critic.strategy=fsdp critic.rollout_n=1 critic.ppo_mini_batch_size=256 critic.ppo_micro_batch_size=null
critic.ppo_micro_batch_size_per_gpu=null critic.use_dynamic_bsz=False critic.ppo_max_token_len_per_gpu=32768
critic.forward_max_token_len_per_gpu=32768 critic.forward_micro_batch_size=null
critic.forward_micro_batch_size_per_gpu=null critic.ppo_epochs=1 critic.shuffle=False critic.data_loader_seed=42
critic.cliprange_value=0.5 critic.loss_agg_mode=token-mean critic.grad_clip=1.0
critic.ulysses_sequence_parallel_size=1 critic.optim.lr=1e-5 critic.model.path=x critic.model.tokenizer_path=x
critic.model.use_shm=False critic.model.override_config={} critic.model.external_lib=null
critic.model.trust_remote_code=False critic.model.enable_gradient_checkpointing=True
critic.model.enable_activation_offload=False critic.model.use_remove_padding=False
critic.model.fsdp_config.param_offload=False critic.model.lora_rank=0 critic.checkpoint.async_save=False
critic.profiler.enable=False critic.nccl_timeout=600 critic.megatron.param_offload=False critic.load_weight=True
reward_model.enable=False reward_model.enable_resource_pool=False reward_model.n_gpus_per_node=8
reward_model.nnodes=0 reward_model.strategy=fsdp reward_model.model.input_tokenizer=null reward_model.model.path=x
reward_model.reward_manager=naive reward_model.reward_loop_source=register
+reward_model.reward_loop_module_path=null +reward_model.reward_loop_class_name=null
reward_model.launch_reward_fn_async=False reward_model.sandbox_fusion.url=null
reward_model.sandbox_fusion.max_concurrent=64 reward_model.sandbox_fusion.memory_limit_mb=1024
reward_model.use_reward_loop=True reward_model.num_workers=1 reward_model.rollout.name=vllm
reward_model.profiler.enable=False reward_model.micro_batch_size=null reward_model.micro_batch_size_per_gpu=null
reward_model.max_length=null reward_model.use_dynamic_bsz=False reward_model.forward_max_token_len_per_gpu=32768
reward_model.ulysses_sequence_parallel_size=1 +reward_model.reward_kwargs.overlong_buffer_cfg.enable=True
+reward_model.max_concurrent=1 +reward_model.max_rpm=null +reward_model.max_tpm=null
+reward_model.estimated_tokens_per_request=2000 +reward_model.timeout=300.0 reward.num_workers=8
reward.custom_reward_function.path=null +reward.compute_score_kwargs.method=flexible reward.reward_manager.name=naive
reward.reward_manager.source=register reward.reward_manager.module.path=null reward.reward_model.enable=False
reward.reward_model.model_path=null reward.reward_model.rollout.name=vllm reward.sandbox_fusion.url=null
reward.sandbox_fusion.max_concurrent=64 +reward.max_rpm=60 +reward.timeout=60
reward_manager.source=register reward_manager.name=naive reward_manager.module.path=null
reward_manager.module.name=custom_reward_manager custom_reward_function.path=null
custom_reward_function.name=compute_score algorithm.gamma=1.0 algorithm.lam=1.0 algorithm.adv_estimator=gae
algorithm.norm_adv_by_std_in_grpo=True algorithm.use_kl_in_reward=False algorithm.kl_penalty=kl
algorithm.kl_ctrl.type=fixed algorithm.kl_ctrl.kl_coef=0.001 algorithm.kl_ctrl.horizon=10000
algorithm.kl_ctrl.target_kl=0.1 algorithm.use_pf_ppo=False algorithm.pf_ppo.reweight_method=pow
algorithm.pf_ppo.weight_pow=2.0 algorithm.filter_groups.enable=False algorithm.filter_groups.metric=acc
algorithm.filter_groups.max_num_gen_batches=10 algorithm.rollout_correction.rollout_is=null
algorithm.rollout_correction.rollout_is_threshold=2.0 algorithm.rollout_correction.rollout_rs=null
algorithm.rollout_correction.rollout_rs_threshold=null algorithm.rollout_correction.bypass_mode=False
algorithm.rollout_correction.loss_type=ppo_clip algorithm.rollout_correction.rollout_is_batch_normalize=False
algorithm.rollout_correction.rollout_token_veto_threshold=null
algorithm.rollout_correction.use_policy_gradient=False algorithm.rollout_correction.rollout_rs_threshold_lower=null
algorithm.rollout_is=True trainer.balance_batch=True trainer.total_epochs=30 trainer.total_training_steps=null
trainer.project_name=verl_examples trainer.experiment_name=gsm8k trainer.logger=[console,wandb]
trainer.log_val_generations=0 trainer.rollout_data_dir=null trainer.validation_data_dir=null trainer.nnodes=1
trainer.n_gpus_per_node=8 trainer.save_freq=-1 trainer.esi_redundant_time=0 trainer.resume_mode=auto
trainer.resume_from_path=null trainer.val_before_train=True trainer.val_only=False trainer.test_freq=-1
trainer.critic_warmup=0 trainer.default_hdfs_dir=null trainer.del_local_ckpt_after_load=False
trainer.default_local_dir=checkpoints/a trainer.max_actor_ckpt_to_keep=null trainer.max_critic_ckpt_to_keep=null
trainer.ray_wait_register_center_timeout=300 trainer.device=cuda trainer.use_legacy_worker_impl=auto
trainer.profile_steps=null trainer.npu_profile.options.save_path=x trainer.controller_nsight_options.trace=x
trainer.worker_nsight_options.trace=x trainer.remove_previous_ckpt_in_save=False
trainer.val_generations_to_log_to_wandb=10 global_profiler.tool=null global_profiler.steps=null
global_profiler.profile_continuous_steps=False global_profiler.save_path=outputs/profile
global_profiler.global_tool_config.nsys.discrete=False transfer_queue.enable=False ray_kwargs.ray_init.num_cpus=null
ray_kwargs.timeline_json_file=null hydra.run.dir=x actor_rollout_ref.actor.tis_imp_ratio_cap=2
`;

/** So that the batch sizes fit each other whatever one of them is. */
const SIZES = ["trainer.n_gpus_per_node=1", "data.train_batch_size=1024"];

describe("verl's own tree", () => {
  it.each(VERL.trim().split(/\s+/))("knows %s", (override) => {
    expect(() => load([...SIZES, override])).not.toThrow();
  });

  it("reads an old name that is null as not written", () => {
    const path = "actor_rollout_ref.actor.optim";
    expect(load([`${path}.warmup_style=null`]).config.actor_rollout_ref.actor.optim.lr_scheduler_type).toBe("constant");
    const yaml = "critic: {optim: {warmup_style: null, lr_scheduler_type: cosine}}";
    expect(load([], yaml).config.critic.optim.lr_scheduler_type).toBe("cosine");
  });
});

describe("notes of keys without effect", () => {
  const importance = (path: string, value: unknown) => importanceOf(parsePath(path), fromValue(value, DEFAULT));

  it("weigh more where a run learns something else, and nothing where the key is off", () => {
    expect(importance("actor_rollout_ref.model.lora_rank", 8)).toBe("result");
    expect(importance("actor_rollout_ref.model.lora_rank", 0)).toBe("cost");
    expect(importance("actor_rollout_ref.actor.router_replay", { mode: "disabled", record_file: null })).toBe("cost");
    expect(importance("actor_rollout_ref.actor.router_replay", { mode: "R2" })).toBe("result");
    expect(importance("global_profiler.steps", [1, 2])).toBe("output");
    expect(importance("actor_rollout_ref.actor.fsdp_config.param_offload", true)).toBe("cost");
  });

  it("are told with the most important first", () => {
    const loaded = load([
      "actor_rollout_ref.model.use_remove_padding=True",
      "critic.optim.warmup_style=cosine",
      "trainer.default_hdfs_dir=hdfs://x",
      "actor_rollout_ref.model.lora_rank=8",
    ]);
    expect(loaded.notes.map(({ importance }) => importance)).toEqual(["result", "output", "cost", "spelling"]);
    const text = showExplanation(loaded);
    const titles = [...text.matchAll(/^Notes: (.*)$/gm)].map(([, title]) => title);
    expect(titles).toEqual([
      "it changes what is learned",
      "it changes what is written",
      "it changes speed and memory at most",
      "it is read, from another place",
    ]);
  });

  it("are weighed for keys that there are", () => {
    for (const pattern of [...Object.keys(CHANGES_RESULTS), ...CHANGES_OUTPUT])
      expect(Object.keys(WITHOUT_EFFECT)).toContain(pattern);
  });
});
