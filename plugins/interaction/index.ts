import { provide } from "verl";
import { Gsm8kInteraction } from "./gsm8k.ts";
import { ModelUser } from "./model-user.ts";

/** Keys of the registry `interaction`; verl's class names, which its files have, are aliases. */
export const interactions = [
  provide("interaction", "gsm8k", {
    description: "Asks for another answer to a grade-school sum until it is right.",
    aliases: ["verl.interactions.gsm8k_interaction.Gsm8kInteraction"],
    create: Gsm8kInteraction,
  }),
  provide("interaction", "model_user", {
    description: "A user played by a model behind an OpenAI-compatible address.",
    optionsSchema: {
      type: "object",
      additionalProperties: false,
      required: ["base_url", "model"],
      properties: {
        base_url: {
          type: "string",
          pattern: "^https?://",
          description: "Address of the API, such as `http://127.0.0.1:8000/v1`.",
        },
        model: { type: "string", description: "Name of the model." },
        api_key_env: {
          type: "string",
          default: "OPENAI_API_KEY",
          description: "Environment variable that holds the key; empty: none is sent.",
        },
        instructions: {
          type: "string",
          default:
            "You play a user who talks to an assistant. Write only what the user says next, in a few words. When you have what you want, or cannot get it, write ###STOP###.",
          description: "What the model is told; a row's `interaction_kwargs.instructions` are added.",
        },
        stop_text: {
          type: "string",
          minLength: 1,
          default: "###STOP###",
          description: "Text by which the user ends the conversation.",
        },
        temperature: { type: "number", minimum: 0, default: 0, description: "Temperature of its answers." },
        max_tokens: { type: "integer", minimum: 1, default: 256, description: "Tokens of one of its answers." },
        max_turns: { type: "integer", minimum: 1, default: 30, description: "Its answers in one conversation." },
      },
    },
    create: ModelUser,
  }),
];
