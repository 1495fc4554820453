import { freeMap, orNull, section, text } from "./field.ts";

/** verl's own placeholder. */
const PATH = "~/models/deepseek-llm-7b-chat";

/** A model folder in the Hugging Face layout, as actor, critic and SFT name it. */
export function model(
  defaults: { path?: string; tokenizerPath?: string; notes?: { readonly "x-departure"?: string } } = {},
) {
  const { path = PATH, tokenizerPath = null, notes } = defaults;
  return section("The model.", {
    path: text(
      "Model folder: config.json, tokenizer.json and, unless it starts from random, model.safetensors.",
      path,
      notes,
    ),
    hf_config_path: text("Folder of config.json when it is another one.", null),
    tokenizer_path: orNull(text("Folder of the tokenizer when it is another one.", tokenizerPath)),
    custom_chat_template: text("Jinja template that replaces the tokenizer's.", null),
    override_config: freeMap("Keys that replace those of config.json."),
  });
}
