import { choice, integer, number, pair, section } from "./field.ts";

/** `optim` of an actor, a critic or the SFT trainer; only the defaults differ. */
export function optim(defaults: {
  lr: number;
  betas: readonly [number, number];
  warmupRatio: number;
  scheduler: "constant" | "cosine";
}) {
  return section("AdamW and its learning-rate schedule.", {
    lr: number("Peak learning rate.", defaults.lr, { minimum: 0 }),
    lr_warmup_steps: integer("Warm-up steps; negative: `lr_warmup_steps_ratio` of all steps.", -1),
    lr_warmup_steps_ratio: number("Warm-up as a share of all steps.", defaults.warmupRatio, { minimum: 0, maximum: 1 }),
    lr_scheduler_type: choice("Course of the learning rate after the warm-up.", defaults.scheduler, [
      "constant",
      "cosine",
    ]),
    min_lr_ratio: number("Floor of the cosine schedule, as a share of `lr`.", 0, { minimum: 0, maximum: 1 }),
    num_cycles: number("Cosine cycles over the run; 0.5 falls once from `lr` to the floor.", 0.5, {
      exclusiveMinimum: 0,
    }),
    weight_decay: number("Decoupled weight decay; norm weights are left out.", 0.01, { minimum: 0 }),
    betas: pair("AdamW's moment decays.", defaults.betas, { minimum: 0, exclusiveMaximum: 1 }),
    eps: number("AdamW's denominator offset.", 1e-8, { exclusiveMinimum: 0 }),
    clip_grad: number("Global gradient norm is clipped to this.", 1, { exclusiveMinimum: 0, "x-infinite": true }),
  });
}
