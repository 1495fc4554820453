import type { StreamOptions, ToolParserStream } from "../tool-parser.ts";
import type { AnswerWriter } from "./answer-writer.ts";
import { Markers, type MarkGuard } from "./markers.ts";
import { closesMention, isMentioned, isQuoted, startsThought } from "./mention.ts";
import { StreamingToolParser, ScanStream, type Turn } from "./streaming-parser.ts";
import type { Scan } from "./text-source.ts";
import { TurnEnd } from "./turn-end.ts";

/** Opening and closing tag of reasoning. */
type ReasoningTags = readonly [open: string, close: string];

/** A token of that kind ends the turn unless prose speaks of it; `</s>`, `<pad>` and `[EOS]` do where another turn follows. */
const IS_SPECIAL = /[|｜]/;
/** What starts the next turn behind an end of the other kind. */
const TURNS = ["[INST]", "<s>", "<|im_user|>", "<|im_system|>", "<|im_assistant|>"];

const THINK: readonly ReasoningTags[] = [["<think>", "</think>"]];

/** What prose may speak of: letters that JSON and Python are made of are no marks of a format alone. */
const IS_WORD = /[a-z]/i;

/**
 * A format whose calls start at marks in the text. This class finds them, splits off reasoning, and drops the tokens that end a turn;
 * the format reads a call. What stands behind such a token is none of the turn's: it is content, and each call in it an error. At the end
 * of the answer those tokens are as if they were not there; elsewhere a format counts them among what a broken call reaches to.
 *
 * A mark that prose speaks of is content: one in quotes, a code span or brackets, and a token that ends a turn where it stands in a line
 * as a word does, with a blank before it, and behind it a blank and more words, or punctuation. Where the mark of a call stands so, the
 * format decides by what follows: `standsApart`.
 *
 * Reasoning: a call in reasoning that closes is a draft, and ignored. In reasoning that never closes, or that nothing follows, it is an
 * error, or accepted with `recoverReasoning`. A closing tag without an opening one means that the prompt had it, unless the caller knows
 * that it had not: all text before was reasoning. An opening tag counts at the start of the answer or of a line, behind a call or other
 * reasoning, and behind the end of a sentence without a blank; elsewhere it is content, and so is a closing tag behind it in whose line
 * words follow.
 */
export abstract class MarkedToolParser extends StreamingToolParser {
  /** Texts that a call, or a group of calls, may start with. */
  protected abstract readonly opens: readonly string[];
  /** Tokens that end a turn or pad it; dropped where nothing else follows. They belong among the boundaries of a broken call. */
  protected readonly ends: readonly string[] = [];
  protected readonly reasoningTags: readonly ReasoningTags[] = THINK;

  /** Which of the `opens` count at all, where that can be told from what follows. Default: each. */
  protected readonly guard: MarkGuard | undefined = undefined;

  /**
   * How many letters from `open` on, at which the source stands, start no call, where that can be told at once: texts may be made of such
   * marks alone, and to read each would take most of the time. Default: 0, for `open` may start one.
   */
  protected skips(_open: string, _turn: Turn): number {
    return 0;
  }

  /**
   * Reads what `open` starts; the source stands right after it.
   * @param from Position of `open`, for the raw text of errors: `turn.source.text.slice(from, turn.source.at)`.
   * @returns False when it starts no call: it is then content, with what was read after it.
   */
  protected abstract read(open: string, turn: Turn, from: number): Scan<boolean>;

  private readonly markers = new Map<string, Markers>();

  override stream(options: StreamOptions = {}): ToolParserStream {
    return new ScanStream((turn) => this.scan(turn), options, this.turnEnd());
  }

  protected *scan(turn: Turn): Scan {
    const [tags] = this.reasoningTags;
    if (turn.options.startsInReasoning && tags) yield* this.readReasoning(tags[1], turn);
    yield* this.readContent(turn, turn.options.startsInReasoning !== undefined);
    const { out } = turn;
    if (out.isBlank && out.thoughts !== "") out.unanswered(this.readThought(out.thoughts, turn));
  }

  /**
   * @param reasoned Closing tags of reasoning from here on are mere text.
   * @param isInner It is text in which calls do not count: tags of reasoning and ends of turns do not either.
   */
  private *readContent(turn: Turn, reasoned: boolean, isInner = false): Scan {
    const { source, out } = turn;
    const others = isInner ? [] : [...this.ends, ...this.reasoningTags.flat()];
    const markers = this.marksOf([...this.opens, ...others], this.guard);
    const tell = (text: string): void => out.content(text);
    const skips = (hit: string): number => (this.opens.includes(hit) ? this.skips(hit, turn) : 0);
    // A mark that starts no call is told with the text after it.
    for (let refused = 0, mentioned = false; ;) {
      if (out.room <= 0) return yield* this.skipRest(turn);
      const hit = yield* source.until(markers, tell, refused, skips);
      if (hit === undefined) return;
      const from = source.at;
      source.at += hit.length;
      refused = 0;
      if (this.opens.includes(hit)) {
        const quoted = IS_WORD.test(hit) && (yield* isQuoted(turn));
        if (!quoted && (yield* this.read(hit, turn, from))) continue;
        source.at = from + hit.length;
        refused = hit.length;
      } else if (this.ends.includes(hit)) {
        if (IS_SPECIAL.test(hit) && (yield* isMentioned(turn))) refused = hit.length;
        else yield* this.readEnd(turn, from, reasoned);
      } else {
        const opened = this.reasoningTags.find(([open]) => open === hit);
        if (opened && startsThought(turn)) {
          yield* this.readReasoning(opened[1], turn);
          reasoned = true;
        } else if (opened !== undefined || reasoned || (yield* closesMention(turn, mentioned))) {
          refused = hit.length;
          mentioned = opened !== undefined;
        } else {
          out.retract(source.before(from));
          reasoned = true;
        }
      }
    }
  }

  /** Goes to the end. */
  private *skipRest({ source, out }: Turn): Scan {
    const from = source.at;
    yield* source.skipWhile(() => true);
    out.unread(source.text.slice(from));
  }

  private *readReasoning(close: string, turn: Turn): Scan {
    const { source, out } = turn;
    // Calls may be taken out of it at the end, and nothing that was told is taken back.
    const held = turn.options.recoverReasoning === true;
    let text = "";
    const hit = yield* source.until(this.marksOf([close]), (piece) => {
      text += piece;
      if (!held) out.reasoning(piece);
    });
    if (hit === undefined) return out.unterminated(text, this.readThought(text, turn));
    source.at += hit.length;
    out.reasoned(text);
  }

  /** What of calls stands in reasoning. */
  private readThought(text: string, turn: Turn): AnswerWriter {
    const inner = this.innerStream(turn);
    inner.push(text);
    inner.end();
    return inner.turn.out;
  }

  /** Reads text in which calls do not count. */
  private innerStream({ options: { tools, strict } }: Turn): ScanStream {
    return new ScanStream((turn) => this.readContent(turn, true, true), { tools, strict }, this.turnEnd());
  }

  private turnEnd(): TurnEnd | undefined {
    return this.ends.length > 0 ? new TurnEnd(this.marksOf(this.ends)) : undefined;
  }

  /**
   * Reads on behind a token that ends the turn, which starts at `from`: up to the end, or to a tag which shows that all before was
   * reasoning.
   */
  private *readEnd(turn: Turn, from: number, reasoned: boolean): Scan {
    const { source, out } = turn;
    do yield* source.skipSpace();
    while (yield* source.take(...this.ends));
    const tokens = source.text.slice(from, source.at);
    out.content(tokens);
    if (!IS_SPECIAL.test(tokens) && !(yield* source.seesAny(TURNS))) return;
    const inner = this.innerStream(turn);
    const tell = (piece: string): void => {
      out.content(piece);
      inner.push(piece);
    };
    const hit = yield* source.until(this.marksOf(reasoned ? [] : this.reasoningTags.flat()), tell);
    if (this.reasoningTags.some(([, close]) => close === hit)) return;
    // Behind an opening tag, the closing one is its own.
    if (hit !== undefined) yield* source.until(this.marksOf([]), tell);
    inner.end();
    out.afterTurn(inner.turn.out);
  }

  private marksOf(words: readonly string[], guard?: MarkGuard): Markers {
    const key = words.join("\n");
    let markers = this.markers.get(key);
    if (!markers) this.markers.set(key, (markers = new Markers(words, guard)));
    return markers;
  }
}
