import type { AnswerWriter } from "./answer-writer.ts";
import { Markers, type MarkGuard } from "./markers.ts";
import { StreamingToolParser, ScanStream, type Turn } from "./streaming-parser.ts";
import type { Scan } from "./text-source.ts";

/** Opening and closing tag of reasoning. */
type ReasoningTags = readonly [open: string, close: string];

const THINK: readonly ReasoningTags[] = [["<think>", "</think>"]];

/**
 * A format whose calls start at marks in the text. This class finds them, splits off reasoning, and drops the tokens that end a turn;
 * the format reads a call.
 *
 * Reasoning: a call in reasoning that closes is a draft, and ignored. In reasoning that never closes, or that nothing follows, it is an
 * error, or accepted with `recoverReasoning`. A closing tag without an opening one means that the prompt had it, unless the caller knows
 * that it had not: all text before was reasoning.
 */
export abstract class MarkedToolParser extends StreamingToolParser {
  /** Texts that a call, or a group of calls, may start with. */
  protected abstract readonly opens: readonly string[];
  /** Tokens that end a turn or pad it; dropped where nothing else follows. */
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

  private readonly markers = new Map<boolean, Markers>();
  private readonly closings = new Map<string, Markers>();

  protected *scan(turn: Turn): Scan {
    const [tags] = this.reasoningTags;
    if (turn.options.startsInReasoning && tags) yield* this.readReasoning(tags[1], turn);
    yield* this.readContent(turn, turn.options.startsInReasoning !== undefined);
    const { out } = turn;
    if (out.isBlank && out.thoughts !== "") out.unanswered(this.readThought(out.thoughts, turn));
  }

  /** @param reasoned Closing tags of reasoning from here on are mere text. */
  private *readContent(turn: Turn, reasoned: boolean, inReasoning = false): Scan {
    const { source, out } = turn;
    const markers = this.markersFor(inReasoning);
    const tell = (text: string): void => out.content(text);
    const skips = (hit: string): number => (this.opens.includes(hit) ? this.skips(hit, turn) : 0);
    // A mark that starts no call is told with the text after it.
    for (let refused = 0; ;) {
      if (out.room <= 0) return yield* this.skipRest(turn);
      const hit = yield* source.until(markers, tell, refused, skips);
      if (hit === undefined) return;
      const from = source.at;
      source.at += hit.length;
      refused = 0;
      if (this.opens.includes(hit)) {
        if (yield* this.read(hit, turn, from)) continue;
        source.at = from + hit.length;
        refused = hit.length;
      } else if (this.ends.includes(hit)) {
        yield* this.readEnd(turn, from);
      } else {
        const opened = this.reasoningTags.find(([open]) => open === hit);
        if (opened) yield* this.readReasoning(opened[1], turn);
        else if (reasoned) out.content(hit);
        else out.retract(source.before(from));
        reasoned = true;
      }
    }
  }

  /** Goes to the end; tokens that end the turn are no text that is missed. */
  private *skipRest({ source, out }: Turn): Scan {
    const from = source.at;
    yield* source.skipWhile(() => true);
    out.unread(this.ends.reduce((rest, end) => rest.replaceAll(end, ""), source.text.slice(from)));
  }

  private *readReasoning(close: string, turn: Turn): Scan {
    const { source, out } = turn;
    // Calls may be taken out of it at the end, and nothing that was told is taken back.
    const held = turn.options.recoverReasoning === true;
    let text = "";
    const hit = yield* source.until(this.closing(close), (piece) => {
      text += piece;
      if (!held) out.reasoning(piece);
    });
    if (hit === undefined) return out.unterminated(text, this.readThought(text, turn));
    source.at += hit.length;
    out.reasoned(text);
  }

  /** What of calls stands in reasoning. */
  private readThought(text: string, { options: { tools, strict } }: Turn): AnswerWriter {
    const inner = new ScanStream((turn) => this.readContent(turn, true, true), { tools, strict });
    inner.push(text);
    inner.end();
    return inner.turn.out;
  }

  private *readEnd({ source, out }: Turn, from: number): Scan {
    do yield* source.skipSpace();
    while (yield* source.take(...this.ends));
    if (!(yield* source.atEnd())) out.content(source.text.slice(from, source.at));
  }

  private closing(tag: string): Markers {
    let markers = this.closings.get(tag);
    if (!markers) this.closings.set(tag, (markers = new Markers([tag])));
    return markers;
  }

  private markersFor(inReasoning: boolean): Markers {
    const tags = inReasoning ? [] : this.reasoningTags.flat();
    let markers = this.markers.get(inReasoning);
    if (!markers)
      this.markers.set(inReasoning, (markers = new Markers([...this.opens, ...this.ends, ...tags], this.guard)));
    return markers;
  }
}
