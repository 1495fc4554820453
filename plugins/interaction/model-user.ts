import {
  askService,
  inject,
  Interaction,
  JsonClient,
  OPTIONS,
  VerlError,
  type ChatMessage,
  type InteractionContext,
  type InteractionTurn,
} from "verl";

export interface ModelUserOptions {
  base_url: string;
  model: string;
  api_key_env: string;
  instructions: string;
  stop_text: string;
  temperature: number;
  max_tokens: number;
  max_turns: number;
}

/**
 * A user played by a model behind an OpenAI-compatible address. The row's `interaction_kwargs.instructions` tell it who it is and what it
 * wants; it ends the conversation by its stop text.
 */
export class ModelUser extends Interaction {
  private readonly samples = new Map<string, { instructions: string; turns: number }>();

  constructor(@inject(OPTIONS) private readonly options: ModelUserOptions) {
    super();
  }

  override start({ instructions }: Readonly<Record<string, unknown>>): Promise<string> {
    const instance = globalThis.crypto.randomUUID();
    const own = typeof instructions === "string" ? `\n\n${instructions}` : "";
    this.samples.set(instance, { instructions: `${this.options.instructions}${own}`, turns: 0 });
    return Promise.resolve(instance);
  }

  async respond(
    instance: string,
    messages: readonly ChatMessage[],
    { signal }: InteractionContext,
  ): Promise<InteractionTurn> {
    const { base_url, model, stop_text, temperature, max_tokens, max_turns } = this.options;
    const sample = this.samples.get(instance)!;
    sample.turns += 1;
    const body = {
      model,
      temperature,
      max_tokens,
      messages: [{ role: "system", content: sample.instructions }, ...messages.flatMap(seenByUser)],
    };
    const client = new JsonClient({
      url: `${base_url.replace(/\/+$/, "")}/chat/completions`,
      token: this.apiKey(),
    });
    const content = await askService({
      client,
      body,
      wanted: "`choices[0].message.content`",
      read: contentOf,
      signal,
      failure: `the model "${model}" gave no answer`,
    });
    return { terminate: content.includes(stop_text) || sample.turns >= max_turns, content, score: 0 };
  }

  override finalize(instance: string): Promise<void> {
    this.samples.delete(instance);
    return Promise.resolve();
  }

  private apiKey(): string | undefined {
    const { api_key_env: name } = this.options;
    if (name === "") return undefined;
    const key = process.env[name];
    if (key !== undefined && key !== "") return key;
    throw new VerlError(
      "VERL_AGENT_INTERACTION",
      `The environment has no ${name}, which the simulated user's model needs.`,
      {
        hint: "Set it, or name another variable by `api_key_env`; an empty name sends no key.",
      },
    );
  }
}

function contentOf({ choices }: Record<string, unknown>): string | undefined {
  const [first] = Array.isArray(choices) ? (choices as ({ message?: { content?: unknown } | null } | null)[]) : [];
  const content = first?.message?.content;
  return typeof content === "string" ? content : undefined;
}

/** The conversation from the other side: what the assistant says is said to the user, and tools are not seen. */
function seenByUser({ role, content }: ChatMessage): { role: string; content: string }[] {
  const text = typeof content === "string" ? content : "";
  if (role === "assistant") return text === "" ? [] : [{ role: "user", content: text }];
  return role === "user" ? [{ role: "assistant", content: text }] : [];
}
