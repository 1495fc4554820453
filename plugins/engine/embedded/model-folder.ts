import { cp, mkdir, open, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { NdArray, readSafetensors, safetensorsChunks, type WeightMap } from "verl";
import { architectureOf, type ModelConfig } from "./model-config.ts";

const WEIGHTS_FILE = "model.safetensors";
/** Files and folders that make a folder a usable model besides its config and weights. */
const TOKENIZER_FILES = [
  "tokenizer.json",
  "tokenizer_config.json",
  "special_tokens_map.json",
  "chat_template.jinja",
  "additional_chat_templates",
  "generation_config.json",
];

/** The folder's weights, or undefined when it has none. @throws VERL_SAFETENSORS_FORMAT */
export async function loadWeights(folder: string): Promise<Map<string, NdArray> | undefined> {
  if (!(await readdir(folder)).includes(WEIGHTS_FILE)) return undefined;
  const { arrays } = await readSafetensors(join(folder, WEIGHTS_FILE));
  return new Map([...arrays].map(([name, { dtype, shape, data }]) => [name, new NdArray(dtype, shape, data)]));
}

/**
 * Writes a model folder in the Hugging Face layout: config.json, model.safetensors, and the tokenizer's files of the folder that the
 * model came from. The folder is made if need be; files of the same name are replaced.
 */
export async function saveModelFolder(
  folder: string,
  config: ModelConfig,
  weights: WeightMap,
  from: string,
): Promise<void> {
  await mkdir(folder, { recursive: true });
  const json = {
    model_type: "llama",
    ...config.source,
    architectures: [architectureOf(config)],
    ...(config.valueHead && { num_labels: 1 }),
    torch_dtype: "float32",
  };
  await writeFile(join(folder, "config.json"), `${JSON.stringify(json, null, 2)}\n`);
  const file = await open(join(folder, WEIGHTS_FILE), "w");
  try {
    for (const chunk of safetensorsChunks(weights, { format: "pt" })) await file.writeFile(chunk);
    await file.sync();
  } finally {
    await file.close();
  }
  const present = new Set(await readdir(from));
  for (const name of TOKENIZER_FILES)
    if (present.has(name)) await cp(join(from, name), join(folder, name), { recursive: true });
}
