import { section, texts } from "./field.ts";

/** What a checkpoint of one model holds. */
export const checkpoint = section("Parts of the checkpoint.", {
  save_contents: texts(
    "Parts to save: model, optimizer, extra (schedule, random streams) are saved always; hf_model adds the model folder that other tools read.",
    ["model", "optimizer", "extra"],
    { "x-departure": "verl leaves out what is not named; here every checkpoint resumes its run." },
  ),
});
