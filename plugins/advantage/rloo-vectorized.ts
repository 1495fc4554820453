import { rloo } from "./rloo.ts";

/** RLOO under the key of verl's loop-free version; here both are one function. */
export const rlooVectorized = {
  ...rloo,
  description: "The same as `rloo`; verl has a second implementation under this key.",
  departures: ["A group of one keeps its raw score, as under `rloo`; verl's vectorized version gives it 0."],
};
