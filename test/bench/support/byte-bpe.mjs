import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Splits text as byte-level tokenizers do. */
const PIECES = /'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu;

const TEMPLATE =
  "{% if tools %}{{ '<|im_start|>system\\nYou may call:\\n' }}{% for tool in tools %}{{ tool | tojson + '\\n' }}{% endfor %}{{ '<|im_end|>\\n' }}{% endif %}" +
  "{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

/**
 * Trains a byte-level BPE tokenizer of `merges` merges on the text of `files` and writes it as a model folder with a ChatML template: of the
 * same make as those of today's models, without a download.
 */
export function writeByteBpe(folder, files, merges = 4000) {
  const alphabet = byteAlphabet();
  const counts = new Map();
  for (const piece of files
    .map((file) => readFileSync(file, "utf8"))
    .join("\n")
    .match(PIECES))
    counts.set(piece, (counts.get(piece) ?? 0) + 1);
  const words = [...counts].map(([piece, count]) => ({
    symbols: Array.from(Buffer.from(piece), (byte) => alphabet[byte]),
    count,
  }));

  const learned = [];
  while (learned.length < merges) {
    const pairs = new Map();
    for (const { symbols, count } of words)
      for (let i = 1; i < symbols.length; i++) {
        const pair = `${symbols[i - 1]} ${symbols[i]}`;
        pairs.set(pair, (pairs.get(pair) ?? 0) + count);
      }
    let [best, most] = ["", 1];
    for (const [pair, count] of pairs) if (count > most) [best, most] = [pair, count];
    if (best === "") break;
    const [left, right] = best.split(" ");
    learned.push([left, right]);
    for (const word of words) word.symbols = merge(word.symbols, left, right);
  }

  const special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"];
  const vocab = [...alphabet, ...learned.map((pair) => pair.join("")), ...special];
  mkdirSync(folder, { recursive: true });
  const definition = {
    version: "1.0",
    added_tokens: special.map((content) => ({
      id: vocab.indexOf(content),
      content,
      special: true,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
    })),
    normalizer: null,
    pre_tokenizer: { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true },
    post_processor: null,
    decoder: { type: "ByteLevel", add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: {
      type: "BPE",
      unk_token: null,
      continuing_subword_prefix: "",
      end_of_word_suffix: "",
      fuse_unk: false,
      vocab: Object.fromEntries(vocab.map((token, id) => [token, id])),
      merges: learned,
    },
  };
  const config = {
    tokenizer_class: "PreTrainedTokenizerFast",
    eos_token: "<|im_end|>",
    pad_token: "<|endoftext|>",
    chat_template: TEMPLATE,
    clean_up_tokenization_spaces: false,
  };
  writeFileSync(join(folder, "tokenizer.json"), JSON.stringify(definition));
  writeFileSync(join(folder, "tokenizer_config.json"), JSON.stringify(config));
  return vocab.length;
}

function merge(symbols, left, right) {
  const merged = [];
  for (let i = 0; i < symbols.length; i++) {
    if (symbols[i] === left && symbols[i + 1] === right) merged.push(left + symbols[++i]);
    else merged.push(symbols[i]);
  }
  return merged;
}

/** The printable character that stands for each byte. */
function byteAlphabet() {
  const printable = (byte) => (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(printable(byte) ? byte : next++));
}
