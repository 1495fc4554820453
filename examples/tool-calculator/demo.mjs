// `node examples/tool-calculator/demo.mjs [--seed N --steps N --expect ACCURACY overrides…]`, after `npm run build`.
// Runs what a user would type: make-data, `verl sft`, `verl train`; then tells whether the target was reached.
import { measured, runDemo, tellAccuracy } from "../demo.mjs";
import { makeData } from "./make-data.mjs";

const result = await runDemo({
  name: "tool-calculator",
  makeData,
  steps: 60,
  expect: 0.95,
  command: "node examples/tool-calculator/demo.mjs",
  summary:
    "Trains a language model of 336,256 parameters to add by a calculator: 140 steps of SFT on 200 answers, then GRPO through the tool agent.",
});
const called = measured(result.validation, "called");
tellAccuracy(result, called === undefined ? "" : `, calls ${called.toFixed(3)}`);
