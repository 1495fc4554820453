import { VerlError } from "../errors/index.ts";
import type { Tokenizer } from "../data/index.ts";

/** Every character is a token, its code point the id: texts come back as they were, where no model's tokenizer is at hand. */
export class CodePointTokenizer implements Tokenizer {
  readonly vocabSize = 0x11_0000;
  readonly padTokenId = 0;
  readonly eosTokenId = 0;
  readonly chatTemplate = undefined;

  encode(text: string): Int32Array {
    return Int32Array.from(text, (character) => character.codePointAt(0)!);
  }

  decode(ids: ArrayLike<number>): string {
    const pieces: string[] = [];
    for (let at = 0; at < ids.length; at++) pieces.push(String.fromCodePoint(ids[at]!));
    return pieces.join("");
  }

  renderChat(): never {
    throw new VerlError("VERL_DATA_CHAT_TEMPLATE", "There is no chat template: no model is named.", {
      hint: "Set actor_rollout_ref.model.path to the model's folder.",
    });
  }

  encodeChat(): never {
    return this.renderChat();
  }
}
