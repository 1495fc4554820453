import type { Kind } from "../../core/registry/kinds.ts";

/** What a project is made from: a folder of `projects/`, and what it says of itself. */
export interface Template {
  /** One line for `--list` and for the question. */
  readonly summary: string;
  /** One sentence on what the fresh plugin does, for its package.json and README. */
  readonly description: string;
  /** Kinds of its entries, which all go by the project's key. */
  readonly kinds: readonly Kind[];
  /** False: plain JavaScript, without a build step. */
  readonly typescript: boolean;
  /** True where the package brings a config that others extend. */
  readonly preset: boolean;
  /** Which of the repository's examples a project trains. */
  readonly example: Example;
  /** A script of its own that makes more of the example's data. */
  readonly prepare?: string;
}

/** Examples that projects start from. */
export type Example = "sort-letters" | "tool-calculator";

const usual = { typescript: true, preset: false, example: "sort-letters" } as const;

/** The templates, by name; each is a folder of `projects/`. */
export const TEMPLATES = {
  "adv-estimator": {
    ...usual,
    summary: "An advantage estimator: how good each answer was",
    description: "An advantage estimator for verl: the score over its group's mean, kept within bounds.",
    kinds: ["adv_estimator"],
  },
  "policy-loss": {
    ...usual,
    summary: "A policy loss: what the optimizer minimises",
    description: "A policy loss for verl: the surrogate with a quadratic penalty on the ratio instead of a clip.",
    kinds: ["policy_loss"],
  },
  "reward-manager": {
    ...usual,
    summary: "A reward manager: scores a whole batch, with state and services",
    description: "A reward manager for verl: the score function's result less a price a token.",
    kinds: ["reward_manager"],
  },
  "reward-score": {
    ...usual,
    summary: "A score function: one answer in, one number out",
    description: "A score function for verl: the share of letters that stand in their place.",
    kinds: ["reward_score"],
  },
  "tool-parser": {
    ...usual,
    summary: "A tool parser: reads calls out of a model's answer",
    description: "A tool-call format for verl: JSON between two tags.",
    kinds: ["tool_parser"],
    example: "tool-calculator",
  },
  tool: {
    ...usual,
    summary: "A tool: something that the model may call",
    description: "A tool for verl: sums, read and never run as code.",
    kinds: ["tool"],
    example: "tool-calculator",
  },
  "agent-loop": {
    ...usual,
    summary: "An agent loop: drives a conversation to its end",
    description: "An agent loop for verl: asks again while an answer is too long.",
    kinds: ["agent_loop"],
  },
  interaction: {
    ...usual,
    summary: "An interaction: a simulated user who replies to answers",
    description: "A simulated user for verl: says no until the answer is right.",
    kinds: ["interaction"],
    prepare: "examples/name-user.mjs",
  },
  algorithm: {
    ...usual,
    summary: "A whole algorithm: advantage, loss and a preset that picks both",
    description: "An algorithm for verl: REINFORCE against the mean of the other answers, with a preset.",
    kinds: ["adv_estimator", "policy_loss"],
    preset: true,
  },
  "minimal-js": {
    ...usual,
    summary: "The least that works: a score function in plain JavaScript, no build",
    description: "A score function for verl, in plain JavaScript.",
    kinds: ["reward_score"],
    typescript: false,
  },
} as const satisfies Record<string, Template>;

export type TemplateName = keyof typeof TEMPLATES;

/** All names, in the order of the table. */
export const TEMPLATE_NAMES = Object.keys(TEMPLATES) as readonly TemplateName[];
