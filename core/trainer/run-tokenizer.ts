import type { PpoConfig, SftConfig } from "../config/index.ts";
import { loadTokenizer } from "../data/load-tokenizer.ts";
import type { Tokenizer } from "../data/tokenizer.ts";

/** The tokenizer of a run; errors name the key of the config that chose it. @throws VERL_DATA_TOKENIZER, VERL_DATA_CHAT_TEMPLATE */
export function loadRunTokenizer(config: PpoConfig | SftConfig): Promise<Tokenizer> {
  const [section, model, own] =
    "actor_rollout_ref" in config
      ? ["actor_rollout_ref.model", config.actor_rollout_ref.model, config.data.tokenizer]
      : ["model", config.model, null];
  const [folderKey, folder] =
    own !== null
      ? ["data.tokenizer", own]
      : model.tokenizer_path !== null
        ? [`${section}.tokenizer_path`, model.tokenizer_path]
        : [`${section}.path`, model.path];
  const chatTemplate = model.custom_chat_template;
  return loadTokenizer(folder, { chatTemplate, folderKey, templateKey: `${section}.custom_chat_template` });
}
