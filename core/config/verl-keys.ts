import type { SchemaName } from "./schema/index.ts";
import type { Importance } from "./note.ts";
import type { Node, Path, Scalar } from "./tree.ts";

/** `a.b` also covers all below it; `*` stands for any number of leading keys. */
type Table = Readonly<Record<string, string>>;

const GPU_SHARDING = "Sharding and offloading belong to PyTorch's engines; the engines here manage memory themselves.";
const ROLLOUT_SERVER = "A setting of vLLM or SGLang; the embedded rollout engine has no counterpart.";
const PYTHON = "It names or tunes Python code.";
const PROFILER = "PyTorch and CUDA profilers are not part of this package.";
const RAY = "Ray is not used by the inline transport.";
const VISION = "Images and videos are not supported.";
const REWARD_MODEL =
  "Reward models are not started here: serve one, and set `reward_model.reward_manager` to model and its address in `reward_kwargs.url`.";
const OWN_MANAGER = "Register a reward manager and name it in `reward_model.reward_manager`.";
const SANDBOX = "The sandbox has `url`, `max_concurrent` and `memory_limit_mb`.";
const MULTI_TURN_UNUSED = "verl itself no longer reads it.";
const LORA = "LoRA is not supported; all weights are trained.";

/** Keys that verl has and that change nothing here, with the reason. `verl config explain` shows those that a config sets. */
export const WITHOUT_EFFECT: Table = {
  "*._target_": PYTHON,
  "*.fsdp_config": GPU_SHARDING,
  "*.megatron": GPU_SHARDING,
  "*.veomni": GPU_SHARDING,
  "*.profiler": PROFILER,
  "*.nccl_timeout": GPU_SHARDING,
  "*.load_weight": GPU_SHARDING,
  "*.ulysses_sequence_parallel_size": GPU_SHARDING,
  "*.use_torch_compile": PYTHON,
  "*.use_remove_padding": "Padding is never computed on here.",
  "*.use_fused_kernels": "The tensor backend fuses kernels itself.",
  "*.fused_kernel_options": "The tensor backend fuses kernels itself.",
  "*.entropy_from_logits_with_chunking": "Entropy is always computed in chunks of the vocabulary.",
  "*.entropy_checkpointing": "Entropy is always computed in chunks of the vocabulary.",
  "*.trust_remote_code": PYTHON,
  "*.use_shm": "Files are read where they are.",
  "*.external_lib": PYTHON,
  "*.enable_activation_offload": GPU_SHARDING,
  "*.enable_gradient_checkpointing": "Activations are kept for the backward pass; micro-batches bound their memory.",
  "*.lora_rank": LORA,
  "*.lora_alpha": LORA,
  "*.lora_adapter_path": LORA,
  "*.lora": LORA,
  "*.target_modules": LORA,
  "*.exclude_modules": LORA,
  "*.use_liger": PYTHON,
  "*.tiled_mlp": PYTHON,
  "*.mtp": "Multi-token prediction is not supported.",
  "*.checkpoint.load_contents": "A run resumes with all that its checkpoint holds.",
  "*.checkpoint.async_save": "Checkpoints are written before the next step begins.",
  "*.optim.total_training_steps": "It is read from `trainer.total_training_steps`.",
  "*.optim.optimizer": "The optimizer is AdamW.",
  "*.optim.optimizer_impl": PYTHON,
  "*.optim.override_optimizer_config": PYTHON,
  hydra: "Hydra's own settings; logs and outputs go where `trainer.default_local_dir` says.",
  ray_kwargs: RAY,
  ray_init: RAY,
  global_profiler: PROFILER,
  transfer_queue: RAY,
  "data.return_raw_input_ids": "Prompts are kept as messages and as ids, always.",
  "data.return_raw_chat": "Prompts are kept as messages and as ids, always.",
  "data.return_full_prompt": "Prompts are kept as messages and as ids, always.",
  "data.return_multi_modal_inputs": VISION,
  "data.image_key": VISION,
  "data.video_key": VISION,
  "data.image_patch_size": VISION,
  "data.dataloader_num_workers": "Rows are read in the trainer's process.",
  "data.use_dynamic_bsz": "SFT micro-batches are cut by rows.",
  "data.max_token_len_per_gpu": "SFT micro-batches are cut by rows.",
  "data.pad_mode": "Padding is never computed on here.",
  "data.balance_dp_token": "One rank trains.",
  "data.enable_thinking_key": "Set template variables in `data.apply_chat_template_kwargs`.",
  "data.multiturn.enable": "Rows are conversations, always.",
  "actor_rollout_ref.actor.freeze_vision_tower": VISION,
  "actor_rollout_ref.actor.use_prefix_grouper": "Prompts of a group are computed once by the rollout engine alone.",
  "actor_rollout_ref.actor.sum_pi_squared_checkpointing": "Σπ² is always computed in chunks of the vocabulary.",
  "*.router_replay": "Mixture-of-experts models are not supported.",
  "actor_rollout_ref.actor.tis_imp_ratio_cap":
    "Set `algorithm.rollout_correction.rollout_is` and `rollout_is_threshold`.",
  "actor_rollout_ref.ref.model": "The reference is the actor as it was at the start.",
  "*.rollout_n": "It is read from `actor_rollout_ref.rollout.n`.",
  "actor_rollout_ref.rollout.dtype": ROLLOUT_SERVER,
  "actor_rollout_ref.rollout.gpu_memory_utilization": ROLLOUT_SERVER,
  "actor_rollout_ref.rollout.enforce_eager": ROLLOUT_SERVER,
  "actor_rollout_ref.rollout.cudagraph_capture_sizes": ROLLOUT_SERVER,
  "actor_rollout_ref.rollout.enable_sleep_mode": ROLLOUT_SERVER,
  "actor_rollout_ref.rollout.tensor_model_parallel_size": ROLLOUT_SERVER,
  "actor_rollout_ref.rollout.data_parallel_size": ROLLOUT_SERVER,
  "actor_rollout_ref.rollout.expert_parallel_size": ROLLOUT_SERVER,
  "actor_rollout_ref.rollout.pipeline_model_parallel_size": ROLLOUT_SERVER,
  "actor_rollout_ref.rollout.max_num_batched_tokens": ROLLOUT_SERVER,
  "actor_rollout_ref.rollout.max_model_len": "Its place is taken by `prompt_length` + `response_length`.",
  "actor_rollout_ref.rollout.enable_chunked_prefill": ROLLOUT_SERVER,
  "actor_rollout_ref.rollout.enable_prefix_caching": ROLLOUT_SERVER,
  "actor_rollout_ref.rollout.logprobs_mode": "Log-probs are those at the sampling temperature, before top-k and top-p.",
  "actor_rollout_ref.rollout.scheduling_policy": ROLLOUT_SERVER,
  "actor_rollout_ref.rollout.load_format": ROLLOUT_SERVER,
  "actor_rollout_ref.rollout.disable_log_stats": ROLLOUT_SERVER,
  "actor_rollout_ref.rollout.over_sample_rate": ROLLOUT_SERVER,
  "actor_rollout_ref.rollout.multi_stage_wake_up": ROLLOUT_SERVER,
  "actor_rollout_ref.rollout.checkpoint_engine": "Weights are handed over in memory.",
  "actor_rollout_ref.rollout.layered_summon": GPU_SHARDING,
  "actor_rollout_ref.rollout.skip_rollout": "Rollouts are always sampled.",
  "actor_rollout_ref.rollout.skip_dump_dir": "Rollouts are always sampled.",
  "actor_rollout_ref.rollout.skip_tokenizer_init": ROLLOUT_SERVER,
  "actor_rollout_ref.rollout.enable_rollout_routing_replay": "Mixture-of-experts models are not supported.",
  "actor_rollout_ref.rollout.prometheus": ROLLOUT_SERVER,
  "actor_rollout_ref.rollout.quantization": ROLLOUT_SERVER,
  "actor_rollout_ref.rollout.quantization_config_file": ROLLOUT_SERVER,
  "actor_rollout_ref.rollout.server": ROLLOUT_SERVER,
  "actor_rollout_ref.rollout.swap_space": ROLLOUT_SERVER,
  "actor_rollout_ref.rollout.limit_images": VISION,
  "actor_rollout_ref.rollout.use_fire_sampling": MULTI_TURN_UNUSED,
  "actor_rollout_ref.rollout.repetition_penalty": "The sampler knows temperature, top-k and top-p.",
  "actor_rollout_ref.rollout.engine_kwargs.vllm": ROLLOUT_SERVER,
  "actor_rollout_ref.rollout.engine_kwargs.sglang": ROLLOUT_SERVER,
  "actor_rollout_ref.rollout.engine_kwargs.trtllm": ROLLOUT_SERVER,
  "actor_rollout_ref.rollout.agent.custom_async_server": MULTI_TURN_UNUSED,
  "actor_rollout_ref.rollout.agent.agent_loop_manager_class": PYTHON,
  "actor_rollout_ref.rollout.multi_turn.use_inference_chat_template": MULTI_TURN_UNUSED,
  "actor_rollout_ref.rollout.multi_turn.tokenization_sanity_check_mode": "Sampled tokens are never encoded again.",
  "actor_rollout_ref.rollout.multi_turn.num_repeat_rollouts": MULTI_TURN_UNUSED,
  "actor_rollout_ref.rollout.multi_turn.completion_callback": MULTI_TURN_UNUSED,
  "reward_model.enable_resource_pool": REWARD_MODEL,
  "reward_model.n_gpus_per_node": REWARD_MODEL,
  "reward_model.nnodes": REWARD_MODEL,
  "reward_model.strategy": REWARD_MODEL,
  "reward_model.model": REWARD_MODEL,
  "reward_model.model_path": REWARD_MODEL,
  "reward_model.rollout": REWARD_MODEL,
  "reward_model.micro_batch_size": REWARD_MODEL,
  "reward_model.micro_batch_size_per_gpu": REWARD_MODEL,
  "reward_model.max_length": REWARD_MODEL,
  "reward_model.use_dynamic_bsz": REWARD_MODEL,
  "reward_model.forward_max_token_len_per_gpu": REWARD_MODEL,
  "reward_model.use_reward_loop": "There is one reward path.",
  "reward_model.reward_loop_source": OWN_MANAGER,
  "reward_model.reward_loop_module_path": OWN_MANAGER,
  "reward_model.reward_loop_class_name": OWN_MANAGER,
  "reward_model.sandbox_fusion": SANDBOX,
  "reward.sandbox_fusion": SANDBOX,
  "reward.reward_manager": OWN_MANAGER,
  "reward_manager.source": OWN_MANAGER,
  "reward_manager.module": OWN_MANAGER,
  "algorithm.rollout_is":
    "Set `algorithm.rollout_correction.rollout_is` to token or sequence, and `rollout_is_threshold`.",
  "algorithm.rollout_correction.rollout_token_veto_threshold":
    "Set `algorithm.rollout_correction.rollout_rs` and `rollout_rs_threshold`.",
  "algorithm.rollout_correction.rollout_rs_threshold_lower":
    "Write both bounds as one text in `algorithm.rollout_correction.rollout_rs_threshold`: 'lower_upper'.",
  "algorithm.rollout_correction.use_policy_gradient":
    "Set `algorithm.rollout_correction.loss_type` to reinforce, with `bypass_mode`.",
  "actor_rollout_ref.rollout.calculate_log_probs": "The sampler's log-probs are always kept, as `rollout_log_probs`.",
  "trainer.max_critic_ckpt_to_keep":
    "A checkpoint holds actor and critic, so `trainer.max_actor_ckpt_to_keep` decides for both.",
  "trainer.default_hdfs_dir": "Checkpoints are written to local folders.",
  "trainer.del_local_ckpt_after_load": "Checkpoints are never deleted on load.",
  "trainer.remove_previous_ckpt_in_save": "Set `trainer.max_actor_ckpt_to_keep`.",
  "trainer.esi_redundant_time": "Expiring cloud instances are not watched.",
  "trainer.ray_wait_register_center_timeout": RAY,
  "trainer.use_legacy_worker_impl": "There is one implementation of the workers.",
  "trainer.profile_steps": PROFILER,
  "trainer.npu_profile": PROFILER,
  "trainer.controller_nsight_options": PROFILER,
  "trainer.worker_nsight_options": PROFILER,
  "trainer.runtime_env": RAY,
};

/**
 * Of these, the ones whose loss changes what is learned, with the values that leave them off besides null, false, 0 and nothing.
 * Without the others a run learns the same, at another cost.
 */
export const CHANGES_RESULTS: Readonly<Record<string, readonly Scalar[]>> = {
  "*.router_replay": ["disabled"],
  "*.external_lib": [],
  "*.lora_rank": [],
  "*.lora_adapter_path": [],
  "*.lora": [],
  "*.mtp": [],
  "*.optim.optimizer": ["AdamW"],
  "*.optim.override_optimizer_config": [],
  "data.enable_thinking_key": [],
  "actor_rollout_ref.actor.freeze_vision_tower": [],
  "actor_rollout_ref.actor.tis_imp_ratio_cap": [-1],
  "actor_rollout_ref.ref.model": [],
  "actor_rollout_ref.rollout.over_sample_rate": [],
  "actor_rollout_ref.rollout.skip_rollout": [],
  "actor_rollout_ref.rollout.repetition_penalty": [1],
  "actor_rollout_ref.rollout.quantization": [],
  "actor_rollout_ref.rollout.agent.agent_loop_manager_class": [],
  "reward_model.reward_loop_module_path": [],
  "reward_model.reward_loop_class_name": [],
  "reward_manager.module": ["custom_reward_manager"],
  "reward.reward_manager": ["register", "custom_reward_manager"],
  "algorithm.rollout_is": [],
  "algorithm.rollout_correction.rollout_token_veto_threshold": [],
  "algorithm.rollout_correction.rollout_rs_threshold_lower": [],
  "algorithm.rollout_correction.use_policy_gradient": [],
};

/** Of the rest, the ones without which something is not written. */
export const CHANGES_OUTPUT: ReadonlySet<string> = new Set([
  "*.profiler",
  "global_profiler",
  "hydra",
  "actor_rollout_ref.rollout.prometheus",
  "trainer.default_hdfs_dir",
  "trainer.esi_redundant_time",
  "trainer.profile_steps",
]);

/** Limits towards a judge behind an API, which verl reads beside the name of the reward manager. */
const JUDGE_LIMITS = ["max_concurrent", "max_rpm", "max_tpm", "estimated_tokens_per_request", "timeout"];

/** The keys of verl's `reward_model`, since its version 0.8 `reward`, that are options of a reward manager or of a score function here. */
const rewardOptions = (section: string): Table => ({
  ...Object.fromEntries(JUDGE_LIMITS.map((key) => [`${section}.${key}`, `reward_model.reward_kwargs.${key}`])),
  [`${section}.sandbox_fusion.url`]: "custom_reward_function.reward_kwargs.sandbox_fusion_url",
  [`${section}.sandbox_fusion.max_concurrent`]: "custom_reward_function.reward_kwargs.max_concurrent",
  [`${section}.sandbox_fusion.memory_limit_mb`]: "custom_reward_function.reward_kwargs.memory_limit_mb",
});

/** Keys that had another place or name in some version of verl: old → new. They are read as the new ones, with a note. */
const MOVED: Readonly<Record<SchemaName, Table>> = {
  ppo: {
    "actor_rollout_ref.actor.optim.warmup_style": "actor_rollout_ref.actor.optim.lr_scheduler_type",
    "critic.optim.warmup_style": "critic.optim.lr_scheduler_type",
    "actor_rollout_ref.actor.checkpoint.contents": "actor_rollout_ref.actor.checkpoint.save_contents",
    "critic.checkpoint.contents": "critic.checkpoint.save_contents",
    "algorithm.rollout_is_threshold": "algorithm.rollout_correction.rollout_is_threshold",
    "algorithm.rollout_is_level": "algorithm.rollout_correction.rollout_is",
    "algorithm.rollout_is_batch_normalize": "algorithm.rollout_correction.rollout_is_batch_normalize",
    "algorithm.rollout_rs": "algorithm.rollout_correction.rollout_rs",
    "algorithm.rollout_rs_threshold": "algorithm.rollout_correction.rollout_rs_threshold",
    "actor_rollout_ref.rollout.multi_turn.max_turns": "actor_rollout_ref.rollout.multi_turn.max_assistant_turns",
    "reward_manager.name": "reward_model.reward_manager",
    "reward.custom_reward_function": "custom_reward_function",
    "reward.reward_manager.name": "reward_model.reward_manager",
    "reward.reward_kwargs": "reward_model.reward_kwargs",
    "reward.num_workers": "reward_model.num_workers",
    "reward.reward_model": "reward_model",
    "reward.compute_score_kwargs": "custom_reward_function.reward_kwargs",
    ...rewardOptions("reward"),
    ...rewardOptions("reward_model"),
    "trainer.val_generations_to_log_to_wandb": "trainer.log_val_generations",
  },
  sft: {
    "model.partial_pretrain": "model.path",
    "data.multiturn.messages_key": "data.messages_key",
    "data.multiturn.tools_key": "data.tools_key",
    "data.micro_batch_size": "data.micro_batch_size_per_gpu",
    "optim.lr_scheduler": "optim.lr_scheduler_type",
    "optim.warmup_style": "optim.lr_scheduler_type",
    "optim.warmup_steps_ratio": "optim.lr_warmup_steps_ratio",
    "checkpoint.save_contents": "trainer.checkpoint.save_contents",
  },
};

/** Why a key of verl's changes nothing here; undefined when it is no such key. */
export function reasonWithoutEffect(path: Path): string | undefined {
  const pattern = patternOf(path);
  return pattern === undefined ? undefined : WITHOUT_EFFECT[pattern];
}

/** How much it matters that a key with this value has no effect. */
export function importanceOf(path: Path, node: Node): Importance {
  const pattern = patternOf(path) ?? "";
  const off = Object.hasOwn(CHANGES_RESULTS, pattern) ? CHANGES_RESULTS[pattern]! : [];
  if (isOff(node, off)) return "cost";
  if (Object.hasOwn(CHANGES_RESULTS, pattern)) return "result";
  return CHANGES_OUTPUT.has(pattern) ? "output" : "cost";
}

function isOff(node: Node, off: readonly Scalar[]): boolean {
  if (node.kind === "map")
    return [...node.entries].every(([key, entry]) => key === "_target_" || isOff(entry.node, off));
  if (node.kind === "list") return node.items.every((item) => isOff(item, off));
  return [null, false, 0, "", ...off].includes(node.value);
}

function patternOf(path: Path): string | undefined {
  const text = `.${path.join(".")}.`;
  return Object.keys(WITHOUT_EFFECT).find((pattern) =>
    pattern.startsWith("*.") ? text.includes(`${pattern.slice(1)}.`) : text.startsWith(`.${pattern}.`),
  );
}

/** True for a key of which only some keys below are known to verl. */
export function leadsToWithoutEffect(path: Path): boolean {
  const prefix = `${path.join(".")}.`;
  return Object.keys(WITHOUT_EFFECT).some((pattern) => pattern.startsWith(prefix));
}

/** Where a key has gone; undefined when it has not moved. */
export function movedTo(path: Path, schema: SchemaName): Path | undefined {
  const text = path.join(".");
  for (const [from, to] of Object.entries(MOVED[schema])) {
    if (text === from || text.startsWith(`${from}.`)) return `${to}${text.slice(from.length)}`.split(".");
  }
  return undefined;
}

/** Old paths of one schema with where they went, the longer of two nested ones first. */
export const movedPaths = (schema: SchemaName): readonly (readonly [Path, Path])[] =>
  Object.entries(MOVED[schema])
    .sort(([a], [b]) => b.length - a.length)
    .map(([from, to]) => [from.split("."), to.split(".")] as const);

/** Options that verl keeps beside `loss_mode` for all its losses; a loss that does not know them leaves them alone. */
export const VERL_LOSS_OPTIONS: ReadonlySet<string> = new Set([
  "clip_cov_ratio",
  "clip_cov_lb",
  "clip_cov_ub",
  "kl_cov_ratio",
  "ppo_kl_coef",
]);
