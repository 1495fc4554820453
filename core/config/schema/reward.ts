import { flag, freeMap, integer, number, section, text } from "./field.ts";

export const rewardModel = section("How answers are scored.", {
  enable: flag("Score by a served reward model.", false),
  reward_manager: text("Key of the `reward_manager` registry.", "naive"),
  reward_kwargs: freeMap("Options of the reward manager, checked by its own schema."),
  launch_reward_fn_async: flag("Score while old log-probs are computed.", false),
  num_workers: integer(
    "Processes or threads that score functions run in, where the reward manager has a pool of them; null: one a core.",
    null,
    {
      minimum: 1,
      "x-departure": "verl's 1 would leave cores idle, and its prime reward manager has 64 whatever this says.",
    },
  ),
  timeout_s: number(
    "Seconds that a score function has for an answer, which is left unscored after that. A function that never gives the thread back, such as an endless loop, is ended by it in a pool alone (reward manager `prime`, or `pooled`).",
    300,
    {
      exclusiveMinimum: 0,
      maximum: 2_000_000,
      "x-departure": "verl's prime reward manager has 300 s a sample, its others wait for ever.",
    },
  ),
  max_unscored_fraction: number("The run stops when a larger share of a batch has no score.", 0.1, {
    minimum: 0,
    maximum: 1,
    "x-departure": "Not in verl, where a failing score function ends the run or scores 0.",
  }),
});

export const customRewardFunction = section("A score function of your own.", {
  path: text("A .ts or .js file; null: a registered score function.", null),
  name: text(
    "Name of the exported function. Without a file: key of the `reward_score` registry; `compute_score`: the row's `data_source` chooses.",
    "compute_score",
  ),
  reward_kwargs: freeMap(
    "Further named arguments of each call; they win over the call's own. For a registered function, its options.",
  ),
});
