import { logProb } from "./actor.ts";
import { section, text } from "./field.ts";

export const ref = section("The reference policy of KL terms: the actor as it was at the start.", {
  strategy: text(
    "Training engine that holds it, a key of the `engine` registry.",
    "${actor_rollout_ref.actor.strategy}",
  ),
  ...logProb(),
});
