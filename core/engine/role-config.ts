/** `optim` of an actor, a critic or the SFT trainer. */
export interface OptimConfig {
  /** Peak learning rate. */
  lr: number;
  /** Negative: `lr_warmup_steps_ratio` of all steps. */
  lr_warmup_steps: number;
  lr_warmup_steps_ratio: number;
  lr_scheduler_type: "constant" | "cosine";
  /** Floor of the cosine schedule, as a share of `lr`. */
  min_lr_ratio: number;
  /** 0.5 falls once from `lr` to the floor. */
  num_cycles: number;
  weight_decay: number;
  betas: readonly [number, number];
  eps: number;
  /** Bound of the global gradient norm. */
  clip_grad: number;
}

/** What an engine is told about its role: the value of the `ROLE_CONFIG` token. */
export interface RoleConfig {
  /** A `critic` has a value head in place of the language-model head. `sft` is the model of a supervised run. */
  role: "actor" | "ref" | "critic" | "rollout" | "sft";
  model: {
    /** Folder in the Hugging Face layout: config.json and, unless the model starts from random weights, model.safetensors. */
    path: string;
    /** Folder of config.json when it is another one. */
    hf_config_path?: string | null;
    /** Keys that replace those of config.json. */
    override_config?: Readonly<Record<string, unknown>>;
  };
  /** Absent for models that are never trained. */
  optim?: OptimConfig;
  /** Optimizer steps of the whole run, for the schedule. */
  total_training_steps?: number;
  /** Rollout: sequences sampled together, default 256. */
  max_num_seqs?: number;
}
