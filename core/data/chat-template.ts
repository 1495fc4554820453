import { Template } from "@huggingface/jinja";
import { VerlError } from "../errors/verl-error.ts";
import type { ChatMessage, ChatTemplateOptions } from "./tokenizer.ts";

/** A chat template in Jinja, as Hugging Face model folders carry it. */
export class ChatTemplate {
  private readonly template: Template;

  /**
   * @param variables further names that the template sees: `bos_token`, `eos_token`, …
   * @throws VerlError VERL_DATA_CHAT_TEMPLATE when the source does not parse.
   */
  constructor(
    readonly source: string,
    private readonly variables: Readonly<Record<string, unknown>>,
    private readonly file: string,
  ) {
    try {
      this.template = new Template(source);
    } catch (cause) {
      throw new VerlError("VERL_DATA_CHAT_TEMPLATE", `The chat template does not parse: ${(cause as Error).message}.`, {
        location: { file },
        cause,
        hint: "It is a Jinja template; see the documentation of chat templates at Hugging Face.",
      });
    }
  }

  /** @throws VerlError VERL_DATA_CHAT_TEMPLATE with the template's own message when it refuses the messages. */
  render(
    messages: readonly ChatMessage[],
    { addGenerationPrompt = false, tools, ...variables }: ChatTemplateOptions = {},
  ): string {
    try {
      return this.template.render({
        ...this.variables,
        ...variables,
        messages: toTemplateValue(messages),
        tools: tools === undefined || tools.length === 0 ? null : toTemplateValue(tools),
        add_generation_prompt: addGenerationPrompt,
      });
    } catch (cause) {
      const roles = messages.map((message) => message.role).join(", ");
      throw new VerlError(
        "VERL_DATA_CHAT_TEMPLATE",
        `The chat template refused the roles [${roles}]: ${(cause as Error).message}.`,
        {
          location: { file: this.file },
          cause,
          hint: "Change the messages' roles or their order, or the template (actor_rollout_ref.model.custom_chat_template).",
        },
      );
    }
  }
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
