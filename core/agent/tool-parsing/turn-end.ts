import type { Markers } from "./markers.ts";
import { isSpace } from "./text-source.ts";

/**
 * Holds back the tokens that end a turn, and white space behind them, until more text shows that they are not the last of an answer. Where
 * they are, whoever reads it meets its end where the model ended it, in a call as well.
 */
export class TurnEnd {
  /** Whole tokens, and white space behind them. */
  private held = "";
  /** What may become a token. */
  private part = "";

  constructor(private readonly tokens: Markers) {}

  /** @returns What may be read. */
  pass(piece: string): string {
    const text = this.part + piece;
    let passed = "";
    this.part = "";
    for (let at = 0; at < text.length;) {
      const from = at;
      if (this.held === "") passed += text.slice(from, (at = this.tokens.seek(text, at)));
      else this.held += text.slice(from, (at = pastSpace(text, at)));
      const token = at < text.length ? this.tokens.at(text, at, false) : "";
      if (token === null) {
        this.part = text.slice(at);
        break;
      } else if (token === undefined) {
        passed += this.held + text[at]!;
        this.held = "";
        at += 1;
      } else {
        this.held += token;
        at += token.length;
      }
    }
    return passed;
  }

  /** The answer is over. @returns What was held back and ends no turn. */
  rest(): string {
    return this.part === "" ? "" : this.held + this.part;
  }
}

function pastSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && isSpace(text.charCodeAt(at))) at += 1;
  return at;
}
