import type { ChatMessage, ChatTemplateOptions, Tokenizer } from "../data/tokenizer.ts";
import { isVerlError, VerlError } from "../errors/verl-error.ts";
import { eachBehindItsCall, mislabels } from "./tool-results.ts";

/** Stands where a template needs a text and it does not matter which. */
const ANY: ChatMessage = { role: "user", content: "." };
const BARE: ChatMessage = { role: "assistant", content: "." };

/** Conversations whose shape is remembered; those of one template are few. */
const REMEMBERED = 256;
/** Turns whose tokens are remembered: the answers to one prompt often make the same calls, and rendering is what a turn costs most. */
const REMEMBERED_TURNS = 4096;
/** Characters of such a turn, at most. */
const SHORT = 2000;

/** A conversation up to an answer. */
interface Answered {
  text: string;
  /** What the template closes the answer with, behind the last sampled token. */
  closing: string;
}

/** A place where a chat template changed what the model had been shown. */
export interface TemplateDrift {
  /** The first token that differs, as it was shown and as the template has it now; empty where a text ends. */
  shown: string;
  now: string;
  /** Characters before it. */
  at: number;
  /** The whole conversation as the template has it now, with the generation prompt. */
  text: string;
}

/**
 * Makes tokens of what comes after an answer, by template difference: the template renders a short conversation that ends with an
 * answer, and the same with the new messages behind it; what the second has more is new. Sampled tokens are never rendered, so nothing is
 * encoded twice.
 */
export class TurnTokens {
  /** Conversations up to an answer, by the answer's shape and its last token. */
  private readonly answered = new Map<string, Answered>();
  /** Tokens of turns, by all that they are made of; the turn that was made longest ago goes first. */
  private readonly turns = new Map<string, Int32Array>();

  constructor(
    private readonly tokenizer: Tokenizer,
    private readonly options: ChatTemplateOptions,
  ) {}

  /**
   * Tokens of `messages` after an answer, from behind its last sampled token to the next generation prompt. Where the template closes an
   * answer by more than that token (an end tag that the model was cut before, a newline), this comes first.
   * @param answer the answer's message; its calls count, its text does not
   * @param last the last token that was sampled; undefined where the model did not end the answer: all that closes it is then new
   * @returns tokens that others share: they must not be changed
   * @throws VerlError VERL_AGENT_TEMPLATE_DRIFT when the template changes what stands before the new messages
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
      text = this.textBehind(stand, last, messages);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return this.encode(this.oneByOne(stand, last, messages, error));
    }
    return this.encode(mislabels(text, stand, messages) ? this.oneByOne(stand, last, messages) : text);
  }

  /** What the template has behind the answer's last token. */
  private textBehind(
    stand: ChatMessage,
    last: number | undefined,
    messages: readonly ChatMessage[],
    prompt = true,
  ): string {
    const { text, closing } = this.shapeOf(stand, last);
    const whole = this.render([ANY, stand, ...messages], prompt);
    const drift = this.compare(text, whole);
    if (drift !== undefined) throw driftError(drift, "an answer", messages);
    return closing + whole.slice(text.length);
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
      return pairs
        .map((pair, index) => {
          const text = this.textBehind(pair.answer, last, [pair.message], index === pairs.length - 1);
          return index === 0 ? text : text.slice(this.shapeOf(pair.answer, last).closing.length);
        })
        .join("");
    } catch (error) {
      throw isRefusal(error) ? (refusal ?? error) : error;
    }
  }

  /** The conversation as the template has it, up to the next generation prompt unless told otherwise. */
  render(messages: readonly ChatMessage[], addGenerationPrompt = true): string {
    return this.tokenizer.renderChat(messages, { ...this.options, addGenerationPrompt });
  }

  private shapeOf(stand: ChatMessage, last: number | undefined): Answered {
    const shape = `${last} ${JSON.stringify(stand.tool_calls ?? null)}`;
    const known = this.answered.get(shape);
    if (known !== undefined) return known;
    const end = last === undefined ? undefined : this.tokenizer.decode([last]);
    const text = this.render([ANY, stand], false);
    const closing = behind(text, end) ?? behindContent(this.render([ANY, BARE], false), end);
    const answered = { text, closing };
    if (this.answered.size >= REMEMBERED) this.answered.clear();
    this.answered.set(shape, answered);
    return answered;
  }

  /** Tokens of a text as it stands. */
  encode(text: string): Int32Array {
    return this.tokenizer.encode(text, { addSpecialTokens: false });
  }

  /** Where `now` does not go on from `shown`; undefined when it does. */
  compare(shown: string, now: string): TemplateDrift | undefined {
    if (now.startsWith(shown)) return undefined;
    let at = 0;
    while (at < shown.length && shown[at] === now[at]) at += 1;
    const token = (text: string): string => {
      const [id] = this.encode(text.slice(at, at + 64));
      return id === undefined ? "" : this.tokenizer.decode([id]);
    };
    return { at, shown: token(shown), now: token(now), text: now };
  }
}

/** The template raised an error of its own. */
export const isRefusal = (error: unknown): error is VerlError =>
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
      hint: "Use a template that only appends (some drop earlier reasoning), or set actor_rollout_ref.rollout.multi_turn.template_drift to append or fork.",
      details: { at, shown, now },
    },
  );
}

/** What follows the last `end` of a rendered answer; undefined when the answer has none. */
function behind(text: string, end: string | undefined): string | undefined {
  if (end === undefined) return undefined;
  const at = text.lastIndexOf(end);
  // The answer's own text is one character: an end found before it is another message's.
  return at > text.lastIndexOf(".") ? text.slice(at + end.length) : undefined;
}

const behindContent = (text: string, end: string | undefined): string =>
  behind(text, end) ?? text.slice(text.lastIndexOf(".") + 1);

/** The answer with nothing of its own but the calls that others refer to. */
function standIn({ tool_calls }: ChatMessage): ChatMessage {
  return tool_calls === undefined ? BARE : { ...BARE, tool_calls: withoutArguments(tool_calls) };
}

function withoutArguments(calls: unknown): unknown[] {
  return (calls as { id: string; type: string; function: { name: string } }[]).map(
    ({ id, type, function: { name } }) => ({
      id,
      type,
      function: { name, arguments: {} },
    }),
  );
}
