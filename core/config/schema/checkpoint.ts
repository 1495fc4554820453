import { section, texts } from "./field.ts";

/** What a checkpoint of one model holds. */
export const checkpoint = section("Parts of the checkpoint.", {
  save_contents: texts("Parts to save: model, optimizer, extra (schedule, random streams).", [
    "model",
    "optimizer",
    "extra",
  ]),
  load_contents: texts("Parts to load on resume.", "${.save_contents}"),
});
