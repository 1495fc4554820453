import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Tokenizer as PackageTokenizer } from "@huggingface/tokenizers";
import { VerlError } from "../errors/verl-error.ts";
import { nearest } from "../registry/nearest.ts";
import { ChatTemplate } from "./chat-template.ts";
import { expandPath } from "../config/expand-path.ts";
import { foldersIn } from "./entries-in.ts";
import { findTemplates, type FolderTemplates, type TemplateSource } from "./find-template.ts";
import { PieceCache } from "./piece-cache.ts";
import type {
  ChatMessage,
  ChatTemplateOptions,
  LoadTokenizerOptions,
  Tokenizer,
  TokenizerSource,
} from "./tokenizer.ts";

export type { LoadTokenizerOptions };

type TokenizerConfig = Record<string, unknown>;

/** What is used of the package, whose own declarations do not resolve under Node's rules for ES modules. */
interface HubTokenizer {
  /** A token outside the vocabulary of a model without unknown token has no id. */
  encode(text: string, options: { add_special_tokens: boolean }): { ids: (number | undefined)[]; tokens: string[] };
  decode(ids: number[], options: { clean_up_tokenization_spaces: boolean }): string;
  token_to_id(token: string): number | undefined;
  get_vocab(): ReadonlyMap<string, number>;
  get_added_tokens_decoder(): ReadonlyMap<number, { id: number; special: boolean }>;
  /** `cache`: of a BPE model. */
  readonly model: { cache?: PieceCache };
}

const HubTokenizer = PackageTokenizer as new (definition: object, config: object) => HubTokenizer;

/**
 * Loads the tokenizer of a model folder in the Hugging Face layout: `tokenizer.json`, `tokenizer_config.json`, and the chat templates
 * from files of their own or else from the config. A folder without pad token pads with its end token, which masks make harmless.
 * @throws VerlError VERL_DATA_TOKENIZER, VERL_DATA_CHAT_TEMPLATE
 */
export async function loadTokenizer(path: string, options: LoadTokenizerOptions = {}): Promise<Tokenizer> {
  const folder = expandPath(path);
  if (!existsSync(folder)) throw noModelFolder(path, folder, options.folderKey);
  const tokenizerFile = join(folder, "tokenizer.json");
  const configFile = join(folder, "tokenizer_config.json");
  const invalid = invalidIn(options.folderKey);
  const definition = parseObject(tokenizerFile, await readText(tokenizerFile, invalid), invalid);
  const config = parseObject(configFile, await readText(configFile, invalid), invalid);
  let hub: HubTokenizer;
  try {
    hub = new HubTokenizer(
      { normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null, added_tokens: [], ...definition },
      config,
    );
  } catch (cause) {
    throw invalid(tokenizerFile, `tokenizer.json cannot be used: ${(cause as Error).message}`, cause);
  }
  if (hub.model.cache !== undefined) hub.model.cache = new PieceCache();
  return new FolderTokenizer(hub, config, configFile, await findTemplates(folder, config, options), {
    ...options,
    folder,
  });
}

class FolderTokenizer implements Tokenizer {
  readonly vocabSize: number;
  readonly padTokenId: number;
  readonly eosTokenId: number;
  private readonly special: ReadonlySet<number>;
  private readonly template: ChatTemplate | undefined;
  /** For messages with tools. */
  private readonly withTools: ChatTemplate | undefined;
  private readonly cleanUp: boolean;

  constructor(
    private readonly hub: HubTokenizer,
    config: TokenizerConfig,
    private readonly configFile: string,
    { usual, withTools }: FolderTemplates,
    readonly source: TokenizerSource,
  ) {
    let highest = -1;
    for (const id of hub.get_vocab().values()) highest = Math.max(highest, id);
    this.vocabSize = highest + 1;
    const eos = this.tokenId(config, "eos_token");
    if (eos === undefined)
      throw invalidIn(source.folderKey)(configFile, "tokenizer_config.json names no eos_token, so no answer could end");
    this.eosTokenId = eos;
    this.padTokenId = this.tokenId(config, "pad_token") ?? eos;
    const special = [...hub.get_added_tokens_decoder().values()]
      .filter((token) => token.special)
      .map((token) => token.id);
    this.special = new Set([...special, this.eosTokenId, this.padTokenId]);
    this.cleanUp = config.clean_up_tokenization_spaces === true;
    const names = specialTokenNames(config);
    const parsed = (template: TemplateSource | undefined): ChatTemplate | undefined =>
      template && new ChatTemplate(template.source, names, template.file, source.templateKey);
    this.template = parsed(usual);
    this.withTools = parsed(withTools);
  }

  get chatTemplate(): string | undefined {
    return this.template?.source;
  }

  get toolTemplate(): string | undefined {
    return this.withTools?.source;
  }

  encode(text: string, { addSpecialTokens = true }: { addSpecialTokens?: boolean } = {}): Int32Array {
    const { ids, tokens } = this.hub.encode(text, {
      add_special_tokens: addSpecialTokens,
    });
    const unknown = ids.findIndex((id) => id === undefined);
    if (unknown >= 0) {
      throw new VerlError(
        "VERL_DATA_UNENCODABLE",
        `The tokenizer has no token for ${JSON.stringify(tokens[unknown])} in ${excerpt(text)}.`,
        {
          location: { file: this.configFile },
          hint: "Remove the character from the data, or use a tokenizer with an unknown token or byte fallback.",
        },
      );
    }
    return Int32Array.from(ids as number[]);
  }

  decode(ids: ArrayLike<number>, { skipSpecialTokens = false }: { skipSpecialTokens?: boolean } = {}): string {
    // The package looks each special token up in a list; a set keeps long answers linear.
    const kept = Array.from(ids).filter((id) => !(skipSpecialTokens && this.special.has(id)));
    // The package refuses an empty list.
    return kept.length === 0 ? "" : this.hub.decode(kept, { clean_up_tokenization_spaces: this.cleanUp });
  }

  renderChat(messages: readonly ChatMessage[], options?: ChatTemplateOptions): string {
    if (this.template === undefined) {
      const key = this.source.templateKey;
      throw new VerlError(
        "VERL_DATA_CHAT_TEMPLATE",
        "The tokenizer has no chat template, so messages cannot become a prompt.",
        {
          location: { file: this.configFile },
          hint: `Add chat_template to tokenizer_config.json, or a chat_template.jinja${key === undefined ? "" : `, or set ${key}`}.`,
        },
      );
    }
    const template = options?.tools?.length ? (this.withTools ?? this.template) : this.template;
    return template.render(messages, options);
  }

  encodeChat(messages: readonly ChatMessage[], options?: ChatTemplateOptions): Int32Array {
    // The template writes the special tokens itself.
    return this.encode(this.renderChat(messages, options), { addSpecialTokens: false });
  }

  private tokenId(config: TokenizerConfig, name: string): number | undefined {
    const token = tokenText(config[name]);
    if (token === undefined) return undefined;
    const id = this.hub.token_to_id(token);
    if (id === undefined)
      throw invalidIn(this.source.folderKey)(
        this.configFile,
        `${name} is ${JSON.stringify(token)}, which is not in the vocabulary`,
      );
    return id;
  }
}

function specialTokenNames(config: TokenizerConfig): Record<string, string> {
  const names = ["bos_token", "eos_token", "pad_token", "unk_token", "sep_token", "cls_token", "mask_token"];
  return Object.fromEntries(
    names.flatMap((name) => [tokenText(config[name])].flatMap((text) => (text === undefined ? [] : [[name, text]]))),
  );
}

/** A special token is its text, or an object with the text as `content`. */
function tokenText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "object" && value !== null && "content" in value && typeof value.content === "string")
    return value.content;
  return undefined;
}

async function readText(file: string, invalid: InvalidFile): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    throw invalid(file, `the tokenizer file is missing or cannot be read (${(cause as Error).message})`, cause);
  }
}

function parseObject(file: string, text: string, invalid: InvalidFile): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw invalid(file, `the tokenizer file is no JSON (${(cause as Error).message})`, cause);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw invalid(file, "the tokenizer file holds no JSON object");
  return value as Record<string, unknown>;
}

/**
 * People write a hub's id where verl would download the model.
 * @param path as it was given. @param folder where that is. @param key what names it, for the hint
 */
export function noModelFolder(path: string, folder: string, key?: string): VerlError {
  const isHubId = /^[\w.-]+\/[\w.-]+$/.test(path) && !path.startsWith(".");
  const [meant] = nearest(basename(folder), foldersIn(dirname(folder)), 1);
  const near = meant === undefined ? "" : `Did you mean "${join(dirname(path), meant)}"? `;
  return new VerlError("VERL_DATA_TOKENIZER", `The model folder "${path}" does not exist.`, {
    location: { file: path },
    hint:
      isHubId && meant === undefined
        ? `Ids of the Hugging Face hub are not downloaded: fetch the model first (\`hf download ${path} --local-dir ${path}\`), then name its folder${key === undefined ? "" : ` in ${key}`}.`
        : `${near}${asked(key)}; relative paths start at the working directory.`,
  });
}

type InvalidFile = (file: string, what: string, cause?: unknown) => VerlError;

const invalidIn =
  (key: string | undefined): InvalidFile =>
  (file, what, cause) =>
    new VerlError("VERL_DATA_TOKENIZER", `Cannot load the tokenizer: ${what}.`, {
      location: { file },
      cause,
      hint: `${asked(key)}.`,
    });

const asked = (key = "The path"): string => `${key} names a folder with tokenizer.json and tokenizer_config.json`;

function excerpt(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}
