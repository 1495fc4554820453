import type { Tokenizer } from "verl";

/** The text of the special token that an answer ends with; empty where it ends with another, or with none. */
export function endText(tokenizer: Tokenizer, ids: Int32Array): string {
  const last = ids.subarray(-1);
  return tokenizer.decode(last, { skipSpecialTokens: true }) === "" ? tokenizer.decode(last) : "";
}
