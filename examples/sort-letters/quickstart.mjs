// The main job: `npm run quickstart [-- --seed N --steps N --expect ACCURACY overrides…]`.
// Runs what a user would type: make-data, `verl sft`, `verl train`; then tells whether the target was reached.
import { runDemo, tellAccuracy } from "../demo.mjs";
import { makeData } from "./make-data.mjs";

tellAccuracy(
  await runDemo({
    name: "sort-letters",
    makeData,
    steps: 150,
    expect: 0.96,
    command: "npm run quickstart --",
    summary:
      "Trains a language model of 336,256 parameters to sort five letters: 60 steps of SFT on 100 answers, then GRPO from a rule.",
  }),
);
