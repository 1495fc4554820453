import {
  isQuoted,
  Markers,
  readArgumentsCall,
  StreamingToolParser,
  TRUNCATED,
  type Scan,
  type TextSource,
  type Turn,
} from "verl";

const [START, CHANNEL, MESSAGE, CONSTRAIN] = ["<|start|>", "<|channel|>", "<|message|>", "<|constrain|>"] as const;
const [END, CALL, RETURN] = ["<|end|>", "<|call|>", "<|return|>"] as const;
const PADS = ["<|pad|>", "<|endoftext|>"];
const BETWEEN = new Markers([START, CHANNEL, MESSAGE, END, CALL, RETURN, ...PADS]);
const HEADER_END = new Markers([MESSAGE, START, END, CALL, RETURN]);
const ANALYSIS_END = new Markers([END, RETURN, START, CHANNEL, ...PADS]);
const BODY_END = new Markers([END, CALL, RETURN, START, CHANNEL, ...PADS]);
const CHANNELS = ["analysis", "commentary", "final"];
const NO_NAME = "the call has no name";
const NO_RECIPIENT = "the call names no tool: it is sent to=functions.NAME";
const ASSISTANT = "assistant";
/** The tool that models know of themselves; what they send it is code. */
const PYTHON = "python";
/** Roles of messages that are not the model's. */
const OTHERS = new Set(["user", "system", "developer", "tool", PYTHON]);
const isOther = (role: string): boolean => OTHERS.has(role) || role.includes(".");
const ARGUMENTS = { closes: [CALL, END, RETURN], boundaries: BODY_END, endCloses: true };

/**
 * gpt-oss (harmony): messages with a channel. `analysis` is reasoning, the rest is content, and whatever has a recipient is a call,
 * in whichever channel; the recipient stands before or after it. The prompt may have had the first `<|start|>assistant`. What the model
 * writes for others, a tool's result or the user's next message, is neither: it is passed over. A mark in quotes is what a message speaks of.
 *
 *     <|channel|>analysis<|message|>Oslo, then.<|end|>
 *     <|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Oslo"}<|call|>
 *     <|start|>assistant<|channel|>final<|message|>It is cold.<|return|>
 */
export class GptOssToolParser extends StreamingToolParser {
  protected *scan(turn: Turn): Scan {
    const { source, out } = turn;
    for (;;) {
      if (yield* this.seesHeader(source)) {
        yield* this.readMessage(turn, source.at);
        continue;
      }
      const hit = yield* source.until(BETWEEN, (text) => out.content(text));
      if (hit === undefined) return;
      const from = source.at;
      if (hit !== MESSAGE) source.at += hit.length;
      if (hit === START || hit === CHANNEL || hit === MESSAGE) yield* this.readMessage(turn, from);
    }
  }

  /** Whether a header without its first marks follows: the prompt had them, or the model left them out. The source then stands before it. */
  private *seesHeader(source: TextSource): Scan<boolean> {
    const before = source.at;
    yield* source.skipSpace();
    const { at } = source;
    const channel = yield* source.take(...CHANNELS);
    yield* source.skipSpace();
    const seen = yield* source.seesAny(channel === undefined ? ["to="] : ["to=", CONSTRAIN, MESSAGE]);
    source.at = seen === undefined ? before : at;
    return seen !== undefined;
  }

  /** Reads a header and what it heads; the source stands in the header. */
  private *readMessage(turn: Turn, from: number): Scan {
    const { source, out } = turn;
    let hit = yield* source.until(HEADER_END);
    let header = source.text.slice(from, source.at);
    const second = header.includes(CHANNEL) ? header.indexOf(CHANNEL, header.indexOf(CHANNEL) + 1) : -1;
    // Some repeat the channel behind the recipient.
    if (second > 0 && (header.includes("to=", second) || wordAfter(header, CHANNEL) !== "commentary")) {
      [hit, header] = [CHANNEL, header.slice(0, second)];
      source.at = from + second;
    }
    const recipient = wordAfter(header, "to=");
    if (hit !== MESSAGE) {
      if (recipient !== "") return out.error(header, hit === undefined ? TRUNCATED : "the call has no arguments");
      if (!isOther(wordAfter(header, START))) out.content(textIn(header, hit === undefined));
      return;
    }
    source.at += MESSAGE.length;
    const role = wordAfter(header, START) || ASSISTANT;
    if (recipient === "" ? isOther(role) : recipient === ASSISTANT && role !== ASSISTANT) {
      const end = yield* source.until(BODY_END);
      if (end === CALL) out.error(source.text.slice(from, source.at), NO_RECIPIENT);
      return;
    }
    if (recipient !== "" && recipient !== "user" && recipient !== ASSISTANT) {
      const name = recipient.startsWith("functions.") ? recipient.slice("functions.".length) : recipient;
      yield* source.skipSpace();
      const isCode = recipient === PYTHON && !(yield* source.seesAny(["{", ...ARGUMENTS.closes]));
      if (name !== "" && !isCode) return yield* readArgumentsCall(turn, from, { name }, ARGUMENTS);
      yield* source.until(BODY_END);
      const reason = isCode ? "the message to python is code: tools are called as functions.NAME, with JSON" : NO_NAME;
      return out.error(source.text.slice(from, source.at), reason);
    }
    const reasons = (wordAfter(header, CHANNEL) || header.trim()).startsWith("analysis");
    let body = "";
    const tell = (text: string): void => {
      body += text;
      if (reasons) out.reasoning(text);
      else out.content(text);
    };
    let end = yield* source.until(reasons ? ANALYSIS_END : BODY_END, tell);
    while (end !== undefined && !reasons && (yield* isSpokenOf(end, turn))) {
      source.at += end.length;
      tell(end);
      end = yield* source.until(BODY_END, tell);
    }
    if (end === CALL) out.error(header + MESSAGE + body, NO_RECIPIENT, true);
  }
}

/** Whether a mark that comes next stands in quotes; nothing is read. */
function* isSpokenOf(mark: string, turn: Turn): Scan<boolean> {
  const { at } = turn.source;
  turn.source.at += mark.length;
  const quoted = yield* isQuoted(turn);
  turn.source.at = at;
  return quoted;
}

/** What is said in a header that no body follows: all but the marks, the role and the channel, or the beginning of one at the end. */
function textIn(header: string, isCut: boolean): string {
  const words = without(CHANNEL, CHANNELS, without(START, [ASSISTANT], header));
  const [said = ""] = words.split(CONSTRAIN, 1);
  const isPart = isCut && [ASSISTANT, ...CHANNELS, "to="].some((word) => word.startsWith(said.trim()));
  return isPart ? "" : said;
}

/** A text without the mark that it starts with, and the word behind that, if it is one of these. */
function without(mark: string, words: readonly string[], text: string): string {
  if (!text.trimStart().startsWith(mark)) return text;
  const rest = text.trimStart().slice(mark.length);
  const [all = "", word = ""] = /^\s*(\w+)/.exec(rest) ?? [];
  return words.includes(word) ? rest.slice(all.length) : rest;
}

/** The word after a mark in a header; empty when the mark is missing. */
function wordAfter(header: string, mark: string): string {
  const at = header.lastIndexOf(mark);
  if (at < 0) return "";
  const rest = header.slice(at + mark.length).split(CONSTRAIN, 1)[0] ?? "";
  return /^\s*([^\s<]*)/.exec(rest)?.[1] ?? "";
}
