import { batchPlan } from "../config/batch-plan.ts";
import type { PpoConfig } from "../config/index.ts";
import type { OptimConfig, RoleConfig } from "../engine/role-config.ts";

export interface TrainingLength {
  /** Steps of the run. */
  steps: number;
  /** Optimizer steps of each. */
  updatesPerStep: number;
}

/**
 * What the actor's engine is told. Warm-up steps of the config are steps of the run, as in verl, and the engine counts optimizer
 * steps; the learning rate thus moves within a step too.
 */
export function actorRole({ actor_rollout_ref }: PpoConfig, length: TrainingLength): RoleConfig {
  const { model, actor } = actor_rollout_ref;
  const optim = { ...actor.optim, clip_grad: actor.grad_clip };
  return { role: "actor", model, ...schedule(optim, length) };
}

/** What the critic's engine is told. @param steps of the run. */
export function criticRole(config: PpoConfig, steps: number): RoleConfig {
  const { model, optim, grad_clip } = config.critic;
  const length = { steps, updatesPerStep: batchPlan(config, "critic").updates };
  return { role: "critic", model, ...schedule({ ...optim, clip_grad: grad_clip }, length) };
}

export function referenceRole({ actor_rollout_ref }: PpoConfig): RoleConfig {
  return { role: "ref", model: actor_rollout_ref.model };
}

export function rolloutRole({ actor_rollout_ref }: PpoConfig): RoleConfig {
  const { model, rollout } = actor_rollout_ref;
  return { role: "rollout", model, max_num_seqs: rollout.max_num_seqs };
}

export function schedule(
  optim: OptimConfig,
  { steps, updatesPerStep }: TrainingLength,
): Pick<RoleConfig, "optim" | "total_training_steps"> {
  const warmup = optim.lr_warmup_steps;
  return {
    optim: { ...optim, lr_warmup_steps: warmup > 0 ? warmup * updatesPerStep : warmup },
    total_training_steps: steps * updatesPerStep,
  };
}
