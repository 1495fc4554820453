import { provide } from "verl";
import { EmbeddedRollout } from "./embedded/embedded-rollout.ts";

export const rollouts = [
  provide("rollout", "embedded", {
    description:
      "Samples from a decoder in this process, in batches with a key-value cache, on the chosen tensor backend.",
    create: EmbeddedRollout,
  }),
];
