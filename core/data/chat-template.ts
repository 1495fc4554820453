import { VerlError } from "../errors/verl-error.ts";
import { BoundedTemplate, TemplateLimitError } from "./bounded-template.ts";
import type { ChatMessage, ChatTemplateOptions } from "./tokenizer.ts";

/** Messages that have more reach a template's bounds by themselves. */
const MANY_CHARACTERS = 1_000_000;

/** A chat template in Jinja, as Hugging Face model folders carry it. */
export class ChatTemplate {
  private readonly template: BoundedTemplate;
  /** Tools are the same for many conversations. */
  private readonly tools = new WeakMap<object, object>();

  /**
   * @param variables further names that the template sees: `bos_token`, `eos_token`, …
   * @param key config key that puts another template in its place, for hints.
   * @throws VerlError VERL_DATA_CHAT_TEMPLATE when the source does not parse.
   */
  constructor(
    readonly source: string,
    private readonly variables: Readonly<Record<string, unknown>>,
    private readonly file: string,
    private readonly key?: string,
  ) {
    try {
      this.template = new BoundedTemplate(source);
    } catch (cause) {
      throw new VerlError("VERL_DATA_CHAT_TEMPLATE", `The chat template does not parse: ${(cause as Error).message}.`, {
        location: { file },
        cause,
        hint: "It is a Jinja template; see the documentation of chat templates at Hugging Face.",
      });
    }
  }

  /** @throws VerlError VERL_DATA_CHAT_TEMPLATE with the template's own message when it refuses the messages, or when it does far more than any template has to. */
  render(
    messages: readonly ChatMessage[],
    { addGenerationPrompt = false, tools, ...variables }: ChatTemplateOptions = {},
  ): string {
    try {
      const offered = tools === undefined || tools.length === 0 ? undefined : this.toolValues(tools);
      return this.template.render(
        {
          ...this.variables,
          ...variables,
          messages: toTemplateValue(messages),
          ...(offered === undefined ? { tools: null } : {}),
          add_generation_prompt: addGenerationPrompt,
        },
        offered === undefined ? {} : { tools: offered },
      );
    } catch (cause) {
      if (cause instanceof TemplateLimitError) {
        const length = charactersOf(messages);
        const { message, hint } =
          length > MANY_CHARACTERS
            ? {
                message: `The messages have ${length} characters, too many for the chat template`,
                hint: "Shorten them: tools' results by actor_rollout_ref.rollout.multi_turn.max_tool_response_length.",
              }
            : {
                message: "The chat template does too much",
                hint: `Templates come with models: look at this one, or set another one${this.inKey()}.`,
              };
        throw new VerlError("VERL_DATA_CHAT_TEMPLATE", `${message}: ${cause.message}.`, {
          location: { file: this.file },
          cause,
          hint,
        });
      }
      const roles = messages.map((message) => message.role).join(", ");
      throw new VerlError(
        "VERL_DATA_CHAT_TEMPLATE",
        `The chat template refused the roles [${roles}]: ${(cause as Error).message}.`,
        {
          location: { file: this.file },
          cause,
          hint: `Change the messages' roles or their order, or the template${this.inKey()}.`,
        },
      );
    }
  }

  private inKey(): string {
    return this.key === undefined ? "" : ` (${this.key})`;
  }

  private toolValues(tools: readonly Record<string, unknown>[]): object {
    let values = this.tools.get(tools);
    if (values === undefined) {
      values = toTemplateValue(tools) as object;
      this.tools.set(tools, values);
    }
    return values;
  }
}

function charactersOf(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce<number>((sum, field) => sum + charactersOf(field), 0);
}

/** The template engine has no bigint; its decimal digits are what a template would print. */
function toTemplateValue(value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  if (Array.isArray(value)) return value.map(toTemplateValue);
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, toTemplateValue(field)]));
  }
  return value;
}
