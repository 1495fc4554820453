import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { VerlError, type RoleConfig } from "verl";

/** A decoder's sizes, from a Hugging Face config.json. Every array that follows from them is float32. */
export interface ModelConfig {
  vocabSize: number;
  hiddenSize: number;
  /** Width of the feed-forward layer. */
  intermediateSize: number;
  numLayers: number;
  numHeads: number;
  /** Key and value heads; each serves `numHeads / numKeyValueHeads` query heads. */
  numKeyValueHeads: number;
  headDim: number;
  rmsNormEps: number;
  /** Base of the rotary frequencies. */
  ropeTheta: number;
  /** Longest sequence, in tokens. */
  maxPositions: number;
  /** The output projection is the embedding. */
  tieWordEmbeddings: boolean;
  /** A scalar head (`score.weight`) in place of the output projection. */
  valueHead: boolean;
  /** config.json as it was read, for writing it back. */
  source: Readonly<Record<string, unknown>>;
}

const ARCHITECTURE = "LlamaForCausalLM";
/** A value model starts from a language model, from another value model, or from a reward model. */
const VALUE_ARCHITECTURES = ["LlamaForTokenClassification", "LlamaForSequenceClassification"];

/** Name of the class that reads such a model's folder elsewhere. */
export const architectureOf = ({ valueHead }: Pick<ModelConfig, "valueHead">): string =>
  valueHead ? VALUE_ARCHITECTURES[0]! : ARCHITECTURE;

/** Reads and checks the model config of a role: config.json with `override_config` laid over it. @throws VERL_MODEL_CONFIG */
export async function loadModelConfig({ role, model }: RoleConfig): Promise<ModelConfig> {
  const file = join(model.hf_config_path ?? model.path, "config.json");
  let json: unknown;
  try {
    json = JSON.parse(await readFile(file, "utf8"));
  } catch (cause) {
    throw new VerlError("VERL_MODEL_CONFIG", `The model config ${file} cannot be read: ${(cause as Error).message}.`, {
      hint: "A model folder holds config.json, tokenizer.json and tokenizer_config.json, in the Hugging Face layout.",
      location: { file },
      cause,
    });
  }
  if (typeof json !== "object" || json === null || Array.isArray(json))
    throw refusal(file, "the file", "is not a JSON object");
  return parseModelConfig({ ...json, ...model.override_config }, { file, valueHead: role === "critic" });
}

/** The sizes in a parsed config.json. @throws VERL_MODEL_CONFIG naming the field */
export function parseModelConfig(
  source: Readonly<Record<string, unknown>>,
  { file = "config.json", valueHead = false }: { file?: string; valueHead?: boolean } = {},
): ModelConfig {
  const count = (key: string, fallback?: number): number => {
    const value = source[key] ?? fallback;
    if (!Number.isSafeInteger(value) || (value as number) < 1)
      throw refusal(file, key, `must be a positive integer, got ${show(value)}`);
    return value as number;
  };
  const positive = (key: string, fallback: number): number => {
    const value = source[key] ?? fallback;
    if (typeof value !== "number" || !(value > 0))
      throw refusal(file, key, `must be a positive number, got ${show(value)}`);
    return value;
  };
  const only = (key: string, allowed: unknown): void => {
    const value = source[key] ?? allowed;
    if (value !== allowed)
      throw refusal(file, key, `is ${show(value)}, and the embedded engine has only ${show(allowed)}`);
  };

  const [architecture = ARCHITECTURE] = (source["architectures"] ?? []) as unknown[];
  const known = valueHead ? [ARCHITECTURE, ...VALUE_ARCHITECTURES] : [ARCHITECTURE];
  if (!known.includes(architecture as string)) {
    throw refusal(
      file,
      "architectures",
      `names ${show(architecture)}, and the embedded engine has only ${known.join(", ")}`,
    );
  }
  only("hidden_act", "silu");
  only("attention_bias", false);
  only("mlp_bias", false);
  only("rope_scaling", null);

  const hiddenSize = count("hidden_size");
  const numHeads = count("num_attention_heads");
  const numKeyValueHeads = count("num_key_value_heads", numHeads);
  if (numHeads % numKeyValueHeads !== 0) {
    throw refusal(
      file,
      "num_key_value_heads",
      `is ${numKeyValueHeads}, which does not divide num_attention_heads, ${numHeads}`,
    );
  }
  const headDim = count("head_dim", hiddenSize / numHeads);
  if (headDim % 2 !== 0) throw refusal(file, "head_dim", `must be even for rotary embeddings, got ${headDim}`);
  return {
    vocabSize: count("vocab_size"),
    hiddenSize,
    intermediateSize: count("intermediate_size"),
    numLayers: count("num_hidden_layers"),
    numHeads,
    numKeyValueHeads,
    headDim,
    rmsNormEps: positive("rms_norm_eps", 1e-6),
    ropeTheta: positive("rope_theta", 10_000),
    maxPositions: count("max_position_embeddings", 2048),
    tieWordEmbeddings: source["tie_word_embeddings"] === true,
    valueHead,
    source,
  };
}

function show(value: unknown): string {
  return value === undefined ? "nothing" : JSON.stringify(value);
}

function refusal(file: string, key: string, problem: string): VerlError {
  return new VerlError("VERL_MODEL_CONFIG", `In ${file}, ${key} ${problem}.`, {
    hint: `The embedded engine runs ${ARCHITECTURE} decoders: RMSNorm, rotary positions, SwiGLU, no biases.`,
    location: { file, path: key },
  });
}
