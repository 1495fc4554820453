import { grpo } from "./grpo.ts";

/**
 * GRPO under the key of verl's loop-free version. Here both are one function, for neither loops over groups in a way that costs
 * anything.
 */
export const grpoVectorized = {
  ...grpo,
  description: "The same as `grpo`; verl has a second implementation under this key.",
  departures: [
    ...(grpo.departures ?? []),
    "The standard deviation has no floor of 1e-3, so that loop and vectorized version agree.",
    "`norm_adv_by_std_in_grpo: false` is heard; verl's trainer never passes it on to this version.",
  ],
};
