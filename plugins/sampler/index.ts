import { provide } from "verl";
import { CurriculumSampler } from "./curriculum.ts";
import { RandomSampler } from "./random.ts";
import { SequentialSampler } from "./sequential.ts";

export const samplers = [
  provide("sampler", "sequential", { description: "Rows in file order.", create: SequentialSampler }),
  provide("sampler", "random", {
    description: "A new random order each epoch, settled by the seed and the epoch's number.",
    departures: ["The order is drawn anew from (seed, epoch), not by a generator whose state must be saved."],
    create: RandomSampler,
  }),
  provide("sampler", "curriculum", {
    description: "Easy rows first; harder ones open up as the policy's scores reach a target.",
    departures: ["verl has the base class (`AbstractCurriculumSampler`) and no curriculum."],
    optionsSchema: {
      type: "object",
      additionalProperties: false,
      properties: {
        column: {
          type: "string",
          description:
            "Column, or field of a struct column (`extra_info.level`), with a row's difficulty: more is harder.",
          default: "extra_info.difficulty",
        },
        start: {
          type: "number",
          minimum: 0,
          maximum: 1,
          description: "Share of the rows, the easiest ones, that is open in the beginning.",
          default: 0.25,
        },
        pace: {
          type: "number",
          exclusiveMinimum: 0,
          maximum: 1,
          description: "Share of the rows that opens after a step that reached the target.",
          default: 0.05,
        },
        target: {
          type: "number",
          description: "Mean score of a step that opens further rows.",
          default: 0.5,
        },
      },
    },
    create: CurriculumSampler,
  }),
];
