import type { ChatMessage, ChatTemplateOptions, Tokenizer } from "../data/tokenizer.ts";
import { isVerlError, VerlError } from "../errors/verl-error.ts";
import { CallForm, type TemplateCall } from "./call-form.ts";
import { eachBehindItsCall, mislabels } from "./tool-results.ts";

/** Stands where a template needs a text and it does not matter which. */
const ANY: ChatMessage = { role: "user", content: "." };
/** Two answers that have nothing in common: what a template has alike behind both is not theirs. */
const CONTENTS = [".", ","] as const;
const ARGUMENTS: readonly object[] = [{}, { x: 0 }];
const BARE: ChatMessage = { role: "assistant", content: CONTENTS[0] };

/** Conversations whose shape is remembered; those of one template are few. */
const REMEMBERED = 256;
/** Turns whose tokens are remembered: the answers to one prompt often make the same calls, and rendering is what a turn costs most. */
const REMEMBERED_TURNS = 4096;
/** Characters of such a turn, at most. */
const SHORT = 2000;

/** A conversation that ends with an answer. */
interface Answered {
  text: string;
  /** What stands behind the answer's own words. */
  tail: string;
}

/** Where a turn begins. */
interface Beginning {
  /** The conversation up to there, once the turn is behind it. */
  text: string;
  /** What of it stands behind the last sampled token. */
  closing: string;
}

/** A place where a chat template changed what the model had been shown. */
export interface TemplateDrift {
  /** The first token that differs, as it was shown and as the template has it now; empty where a text ends. Where there are no tokens for a text, the character. */
  shown: string;
  now: string;
  /** Characters before it. */
  at: number;
  /** The whole conversation as the template has it now, with the generation prompt. */
  text: string;
}

/**
 * Makes tokens of what comes after an answer, by template difference: the template renders a short conversation that ends with an
 * answer, and the same with the new messages behind it; what the second has more is new. Where it writes the answer otherwise once it is
 * not the last message (Qwen3 drops an empty thought, harmony says `<|end|>` for `<|return|>`), the turn begins behind the answer as it is
 * then. Sampled tokens are never rendered, so nothing is encoded twice.
 */
export class TurnTokens {
  /** Conversations that end with an answer, by its calls. */
  private readonly answered = new Map<string, Answered>();
  /** Where turns begin, by the answer's calls, its last token and the roles behind it. */
  private readonly beginnings = new Map<string, Beginning>();
  /** Tokens of turns, by all that they are made of; the turn that was made longest ago goes first. */
  private readonly turns = new Map<string, Int32Array>();
  private readonly calls: CallForm;

  constructor(
    private readonly tokenizer: Tokenizer,
    private readonly options: ChatTemplateOptions,
  ) {
    this.calls = new CallForm((messages) => tokenizer.renderChat(messages, options));
  }

  /**
   * Tokens of `messages` after an answer, from behind its last sampled token to the next generation prompt. Where the template closes an
   * answer by more than that token (an end tag that the model was cut before, a newline), this comes first. A special token that ended the
   * answer stands for the one by which the template ends it, and for the one by which it begins the turn (GLM's answers end with that).
   * @param answer the answer's message; its calls count, its text does not
   * @param last the last token that was sampled; undefined where the model did not end the answer: all that closes it is then new
   * @returns tokens that others share: they must not be changed
   * @throws VerlError VERL_AGENT_TEMPLATE_DRIFT when the template shows nothing of an answer that messages follow
   */
  after(answer: ChatMessage, last: number | undefined, messages: readonly ChatMessage[]): Int32Array {
    const stand = standIn(answer);
    const key = JSON.stringify([last ?? null, stand.tool_calls ?? null, messages]);
    const known = this.turns.get(key);
    if (known !== undefined) return known;
    const ids = this.make(stand, last, messages);
    if (key.length <= SHORT) {
      this.turns.set(key, ids);
      const [oldest] = this.turns.keys();
      if (this.turns.size > REMEMBERED_TURNS) this.turns.delete(oldest!);
    }
    return ids;
  }

  private make(stand: ChatMessage, last: number | undefined, messages: readonly ChatMessage[]): Int32Array {
    let text: string;
    try {
      const { closing, turn } = this.behind(stand, last, messages);
      text = this.joined(closing, turn, last);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return this.encode(this.oneByOne(stand, last, messages, error));
    }
    return this.encode(mislabels(text, stand, messages) ? this.oneByOne(stand, last, messages) : text);
  }

  /** What closes the answer behind its last token, and what the template has then. */
  private behind(
    stand: ChatMessage,
    last: number | undefined,
    messages: readonly ChatMessage[],
    prompt = true,
  ): { closing: string; turn: string } {
    const render = (answer: ChatMessage): string => this.render([ANY, answer, ...messages], prompt);
    const whole = render(stand);
    const { text, closing } = this.beginning(stand, last, messages, whole, render);
    return { closing, turn: whole.slice(text.length) };
  }

  /** The end token that was sampled is not there a second time. */
  private joined(closing: string, turn: string, last: number | undefined): string {
    const end = last !== undefined && this.isSpecial(last) ? this.tokenizer.decode([last]) : "";
    return closing === "" && turn.startsWith(end) ? turn.slice(end.length) : closing + turn;
  }

  /** The same for templates that take one call an answer, or no result without its call. @param refusal why they do not come together. */
  private oneByOne(
    stand: ChatMessage,
    last: number | undefined,
    messages: readonly ChatMessage[],
    refusal?: VerlError,
  ): string {
    try {
      const pairs = eachBehindItsCall(stand, messages);
      const parts = pairs.map(({ answer, message }, index) =>
        this.behind(answer, last, [message], index === pairs.length - 1),
      );
      return this.joined(parts[0]?.closing ?? "", parts.map(({ turn }) => turn).join(""), last);
    } catch (error) {
      throw isRefusal(error) ? (refusal ?? error) : error;
    }
  }

  /** The conversation as the template has it, up to the next generation prompt unless told otherwise. */
  render(messages: readonly ChatMessage[], addGenerationPrompt = true): string {
    return this.tokenizer.renderChat(this.calls.of(messages), { ...this.options, addGenerationPrompt });
  }

  /** Where the turn of `messages` begins in `whole`, which the template made of the stand-in and them. */
  private beginning(
    stand: ChatMessage,
    last: number | undefined,
    messages: readonly ChatMessage[],
    whole: string,
    render: (answer: ChatMessage) => string,
  ): Beginning {
    const key = JSON.stringify([last ?? null, stand.tool_calls ?? null, messages.map(({ role }) => role)]);
    const known = this.beginnings.get(key);
    if (known !== undefined && whole.startsWith(known.text)) return known;
    const answered = this.answeredBy(stand);
    let { text, tail } = answered;
    if (!whole.startsWith(text)) {
      const shared = sharedEnd(whole, render(standIn(stand, 1)));
      if (shared.length === whole.length) throw driftError(this.compare(text, whole)!, "an answer", messages);
      const words = whole.slice(0, whole.length - shared.length);
      if (!shared.startsWith(tail)) tail = this.closingBeforeAnother(stand, words);
      text = words + tail;
    }
    const beginning = { text, closing: this.closing(stand, tail, last) };
    if (this.beginnings.size >= REMEMBERED) this.beginnings.clear();
    this.beginnings.set(key, beginning);
    return beginning;
  }

  private answeredBy(stand: ChatMessage): Answered {
    const key = JSON.stringify(stand.tool_calls ?? null);
    const known = this.answered.get(key);
    if (known !== undefined) return known;
    const text = this.render([ANY, stand], false);
    const answered = { text, tail: sharedEnd(text, this.render([ANY, standIn(stand, 1)], false)) };
    if (this.answered.size >= REMEMBERED) this.answered.clear();
    this.answered.set(key, answered);
    return answered;
  }

  /** What the template has between an answer's words and another answer: the generation prompt begins the other. */
  private closingBeforeAnother(stand: ChatMessage, words: string): string {
    const opening = this.render([ANY]).slice(this.render([ANY], false).length);
    const two = this.render([ANY, stand, BARE], false);
    const at = two.startsWith(words) && opening !== "" ? two.indexOf(opening, words.length) : -1;
    return at < 0 ? "" : two.slice(words.length, at);
  }

  /**
   * What closes an answer behind its last sampled token.
   * @param tail what the template has behind the answer's words, its calls included, when messages follow
   */
  private closing(stand: ChatMessage, tail: string, last: number | undefined): string {
    const end = last === undefined ? "" : this.tokenizer.decode([last]);
    if (end.trim() !== "") {
      const sampled = [tail, this.answeredBy(stand).tail].find((text) => this.encodeEnd(text).includes(last!));
      if (sampled !== undefined) return sampled.slice(sampled.lastIndexOf(end) + end.length);
    }
    // Before the end token may be the rest of a call, which the answer has in its own way.
    const ender = this.encodeEnd(tail).find((id) => this.isSpecial(id));
    if (ender === undefined) return stand.tool_calls === undefined ? tail : this.answeredBy(BARE).tail;
    const text = this.tokenizer.decode([ender]);
    const at = tail.indexOf(text);
    return tail.slice(last !== undefined && this.isSpecial(last) ? at + text.length : at);
  }

  private isSpecial(id: number): boolean {
    return this.tokenizer.decode([id], { skipSpecialTokens: true }) === "" && this.tokenizer.decode([id]) !== "";
  }

  /** Tokens of a text as it stands. */
  encode(text: string): Int32Array {
    return this.tokenizer.encode(text, { addSpecialTokens: false });
  }

  /** Tokens of a text that may begin in the midst of one: a closed vocabulary may have none for the rest of it, which is left out. */
  private encodeEnd(text: string): Int32Array {
    for (let at = 0; at < text.length; at += 1) {
      const ids = this.encodable(text.slice(at));
      if (ids !== undefined) return ids;
    }
    return new Int32Array();
  }

  /** Tokens of a text; undefined where the tokenizer has none for a part of it. */
  private encodable(text: string): Int32Array | undefined {
    try {
      return this.encode(text);
    } catch (error) {
      if (isVerlError(error) && error.code === "VERL_DATA_UNENCODABLE") return undefined;
      throw error;
    }
  }

  /** Where `now` does not go on from `shown`; undefined when it does. */
  compare(shown: string, now: string): TemplateDrift | undefined {
    if (now.startsWith(shown)) return undefined;
    const [before, after] = [this.encodable(shown), this.encodable(now)];
    // A template may write calls with characters that no model samples.
    if (before === undefined || after === undefined) return firstCharacter(shown, now);
    const differing = before.findIndex((id, index) => id !== after[index]);
    const first = differing < 0 ? before.length : differing;
    const token = (ids: Int32Array): string => this.tokenizer.decode(ids.subarray(first, first + 1));
    const at = this.tokenizer.decode(before.subarray(0, first)).length;
    return { at, shown: token(before), now: token(after), text: now };
  }
}

function firstCharacter(shown: string, now: string): TemplateDrift {
  let at = 0;
  while (at < shown.length && shown[at] === now[at]) at += 1;
  return { at, shown: shown.charAt(at), now: now.charAt(at), text: now };
}

/** The template raised an error of its own. */
const isRefusal = (error: unknown): error is VerlError =>
  isVerlError(error) && error.code === "VERL_DATA_CHAT_TEMPLATE";

/** An error that names the first differing token. */
export function driftError(
  { shown, now, at }: TemplateDrift,
  what: string,
  messages: readonly ChatMessage[],
): VerlError {
  const roles = messages.map(({ role }) => role).join(", ");
  return new VerlError(
    "VERL_AGENT_TEMPLATE_DRIFT",
    `The chat template rewrites ${what} when [${roles}] comes: at character ${at} stood ${JSON.stringify(shown)}, now ${JSON.stringify(now)}.`,
    {
      hint: "Use a template that shows all answers and only appends (some drop earlier reasoning). Where it rewrites history, actor_rollout_ref.rollout.multi_turn.template_drift says what then: append, fork or fail.",
      details: { at, shown, now },
    },
  );
}

/** What two texts end with alike. */
function sharedEnd(a: string, b: string): string {
  let length = 0;
  const most = Math.min(a.length, b.length);
  while (length < most && a[a.length - 1 - length] === b[b.length - 1 - length]) length += 1;
  return a.slice(a.length - length);
}

/** The answer with nothing of its own but the calls that others refer to. @param version one of two that differ in all that is their own */
function standIn({ tool_calls }: ChatMessage, version: 0 | 1 = 0): ChatMessage {
  const answer: ChatMessage = { role: "assistant", content: CONTENTS[version] };
  if (tool_calls === undefined) return answer;
  const calls = (tool_calls as TemplateCall[]).map(({ id, type, function: { name } }) => ({
    id,
    type,
    function: { name, arguments: ARGUMENTS[version]! },
  }));
  return { ...answer, tool_calls: calls };
}
