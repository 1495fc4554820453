import { describe, expect, it } from "@jest/globals";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateObject, jsonSchema } from "ai";
import type OpenAI from "openai";
import { APIError } from "openai";
import { branchEnds, type GatewayAccess, type SessionCounts } from "../../core/agent/gateway/index.ts";
import { FIELD_TABLE } from "../../core/agent/gateway/field-table.ts";
import { loadTokenizer } from "../../core/data/load-tokenizer.ts";
import { LettersTokenizer } from "./letters-tokenizer.ts";
import { CALC, callOf, ScriptedRollout, withSession } from "./support.ts";

const ASK = { model: "m", messages: [{ role: "user" as const, content: "1+1" }] };
const NOTHING = { samplingOverridden: 0, formsNotEnforced: 0, templateVariables: 0, unknownFields: 0 };

/** What one request is counted as, and what is told of it. */
async function counted(change: object): Promise<{ counts: SessionCounts; told: string[]; temperature: number }> {
  const told: string[] = [];
  const rollout = new ScriptedRollout(() => "=2");
  const log = { warnOnce: (_: string, message: string) => void told.push(message) };
  const counts = await withSession(
    rollout,
    async ({ client, session }) => {
      await client.chat.completions.create({ ...ASK, ...change } as never);
      return session.counts;
    },
    { log },
  );
  return { counts, told, temperature: rollout.requests[0]!.sampling.temperature };
}

describe("a field of a request", () => {
  it.each<[object]>([
    [{ user: "u", store: true, metadata: { a: "b" }, service_tier: "auto", prompt_cache_key: "k", prediction: {} }],
    [{ frequency_penalty: 0, presence_penalty: 0, repetition_penalty: 1, min_p: 0, logit_bias: {}, ignore_eos: false }],
    [{ response_format: { type: "text" }, tool_choice: "auto", verbosity: null, chat_template_kwargs: {} }],
    [{ top_logprobs: 0, best_of: 1, add_generation_prompt: true, continue_final_message: false, modalities: ["text"] }],
    [{ temperature: 1, top_p: 1, top_k: -1, parallel_tool_calls: true, guided_json: null }],
  ])("is served without a word where it asks for nothing: %j", async (change) => {
    const { counts, told } = await counted(change);
    expect(counts).toMatchObject({ ...NOTHING, requests: 1, failed: 0 });
    expect(told).toEqual([]);
  });

  it.each<[object, keyof typeof NOTHING]>([
    [{ temperature: 0.2 }, "samplingOverridden"],
    [{ seed: 1 }, "samplingOverridden"],
    [{ frequency_penalty: 0.5 }, "samplingOverridden"],
    [{ repetition_penalty: 1.1 }, "samplingOverridden"],
    [{ min_p: 0.1 }, "samplingOverridden"],
    [{ logit_bias: { 5: 1 } }, "samplingOverridden"],
    [{ ignore_eos: true }, "samplingOverridden"],
    [{ response_format: { type: "json_object" } }, "formsNotEnforced"],
    [{ tools: [CALC], tool_choice: "required" }, "formsNotEnforced"],
    [{ tools: [CALC], tool_choice: { type: "function", function: { name: "calc" } } }, "formsNotEnforced"],
    [{ tools: [{ type: "function", function: { ...CALC.function, strict: true } }] }, "formsNotEnforced"],
    [{ guided_json: { type: "object" } }, "formsNotEnforced"],
    [{ temprature: 0.2 }, "unknownFields"],
    [JSON.parse('{"__proto__":1}') as object, "unknownFields"],
  ])("is counted and told where it is not done as asked: %j", async (change, count) => {
    const { counts, told, temperature } = await counted(change);
    expect(counts).toMatchObject({ ...NOTHING, requests: 1, [count]: 1 });
    expect(told).toHaveLength(1);
    const field = Object.keys(change).at(-1)!;
    expect(told[0]).toContain(field === "tools" ? "'tools[].function.strict'" : `'${field}'`);
    expect(temperature).toBe(1);
  });

  it.each<[object, string]>([
    [{ functions: [] }, "functions"],
    [{ logprobs: true, top_logprobs: 2 }, "top_logprobs"],
    [{ best_of: 2 }, "best_of"],
    [{ continue_final_message: true, add_generation_prompt: false }, "continue_final_message"],
    [{ add_generation_prompt: false }, "add_generation_prompt"],
    [{ chat_template: "{{ 1 }}" }, "chat_template"],
    [{ stop_token_ids: [3] }, "stop_token_ids"],
    [{ modalities: ["text", "audio"] }, "modalities"],
  ])("is refused by its name and the reason where it cannot be done: %j", async (change, field) => {
    const { about } = FIELD_TABLE.find(({ fields, only }) => fields.includes(field) && only !== "completions")!;
    const error = await counted(change).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(APIError);
    expect(error).toMatchObject({ status: 400, code: "unsupported_parameter", param: field });
    expect((error as APIError).message).toContain(`'${field}' is not served here: ${about}.`);
  });

  it.each<[object, string]>([
    [{ chat_template_kwargs: [] }, "chat_template_kwargs"],
    [{ chat_template_kwargs: { messages: [] } }, "chat_template_kwargs.messages"],
    [{ chat_template_kwargs: { add_generation_prompt: false } }, "chat_template_kwargs.add_generation_prompt"],
    [{ reasoning_effort: 3 }, "reasoning_effort"],
    [{ tool_choice: "perhaps" }, "tool_choice"],
  ])("is refused where its value is wrong: %j", async (change, param) => {
    const error = await counted(change).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ status: 400, code: "invalid_value", param });
  });

  it("gives the chat template its variables, over those of the run; other ones begin another conversation", async () => {
    const chatTemplate =
      "{% if digit %}{{ digit }}{% endif %}{% if reasoning_effort == 'high' %}9{% endif %}" +
      "{% for message in messages %}{{ message.content + '<|end|>' }}{% endfor %}{% if add_generation_prompt %}={% endif %}";
    const tokenizer = await loadTokenizer("examples/tool-calculator/model", { chatTemplate });
    const rollout = new ScriptedRollout(() => "2", tokenizer);
    const use = async ({ client, session }: { client: OpenAI } & GatewayAccess): Promise<void> => {
      const more = [
        ...ASK.messages,
        { role: "assistant" as const, content: "2" },
        { role: "user" as const, content: "3" },
      ];
      const ask = (change: object) => client.chat.completions.create({ ...ASK, ...change });
      await ask({});
      await ask({ chat_template_kwargs: { digit: 8 } });
      await ask({ messages: more, chat_template_kwargs: { digit: 8 } });
      await ask({ messages: more, chat_template_kwargs: { digit: 8 }, reasoning_effort: "high" });
      expect(rollout.requests.map(({ prompt }) => prompt)).toEqual([
        "71+1<|end|>=",
        "81+1<|end|>=",
        "81+1<|end|>=2<|end|>3<|end|>=",
        "891+1<|end|>2<|end|>3<|end|>=",
      ]);
      expect(session.exchanges.map(({ parent }) => parent?.index)).toEqual([undefined, undefined, 1, undefined]);
      expect(session.counts).toMatchObject({ templateVariables: 3, historyBreaks: 2 });
    };
    await withSession(rollout, use, {}, { tokenizer, templateVariables: { digit: 7 } });
  });

  it("of a call is text where it is nested too deep to be arguments", async () => {
    await withSession(new ScriptedRollout(() => "=2"), async ({ client }) => {
      const deep = `{"e":${"[".repeat(20_000)}${"]".repeat(20_000)}}`;
      const call = { id: "1", type: "function" as const, function: { name: "calc", arguments: deep } };
      const called = { role: "assistant" as const, content: "", tool_calls: [call] };
      const messages = [...ASK.messages, called, { role: "tool" as const, tool_call_id: "1", content: "2" }];
      const { choices } = await client.chat.completions.create({ model: "m", messages, tools: [CALC] });
      expect(choices[0]!.message.content).toBe("=2");
    });
  });

  it("is done where whoever serves a model chooses the sampling, and told where it cannot be", async () => {
    const told: string[] = [];
    const log = { warnOnce: (_: string, message: string) => void told.push(message) };
    const rollout = new ScriptedRollout(() => "=2");
    const use = async ({ client, session }: { client: OpenAI } & GatewayAccess): Promise<void> => {
      await client.chat.completions.create({ ...ASK, temperature: 0.2, seed: 4, presence_penalty: 1 });
      expect(rollout.requests[0]!.sampling).toMatchObject({ temperature: 0.2, seed: 4 });
      expect(session.counts.samplingOverridden).toBe(1);
      expect(told).toEqual([expect.stringContaining("'presence_penalty'")]);
    };
    await withSession(rollout, use, { choosesSampling: true, log });
  });

  it("of plain completions puts the prompt before the answer, and goes on from both", async () => {
    await withSession(new ScriptedRollout(() => "=2"), async ({ client, session }) => {
      const echo = { model: "m", echo: true } as const;
      const first = (await client.completions.create({ ...echo, prompt: "1+1" })).choices[0]!.text;
      expect(first).toBe("1+1=2");
      let streamed = "";
      for await (const { choices } of await client.completions.create({
        ...echo,
        prompt: `${first}+3`,
        stream: true,
      })) {
        streamed += choices[0]?.text ?? "";
      }
      expect(streamed).toBe("1+1=2+3=2");
      expect(branchEnds(session.exchanges)).toHaveLength(1);
      const told = client.completions.create({ ...echo, prompt: "1", logprobs: 1 });
      await expect(told).rejects.toMatchObject({ status: 400, param: "echo" });
    });
  });
});

describe("an agent that wants a form of answer", () => {
  const letters = new LettersTokenizer();
  const fits = '{"e":"1"}';
  const form = { type: "object" as const, properties: { e: { type: "string" as const } }, required: ["e"] };

  it.each([
    [fits, true],
    ["=2", false],
  ])("of the AI SDK reads it where it fits, and throws where it does not: %s", async (answer, good) => {
    const use = async ({ baseURL, apiKey, session }: GatewayAccess): Promise<void> => {
      const provider = createOpenAICompatible({ name: "policy", baseURL, apiKey, supportsStructuredOutputs: true });
      const asked = generateObject({ model: provider("policy"), schema: jsonSchema(form), prompt: "1", maxRetries: 0 });
      if (good) expect((await asked).object).toEqual({ e: "1" });
      else await expect(asked).rejects.toMatchObject({ name: "AI_NoObjectGeneratedError" });
      expect(session.exchanges).toHaveLength(1);
      expect(session.counts).toMatchObject({ formsNotEnforced: 1, failed: 0 });
    };
    await withSession(new ScriptedRollout(() => answer, letters), use, {}, { tokenizer: letters });
  });

  it("of the openai package reads it where it fits, and throws where it does not", async () => {
    const rollout = new ScriptedRollout((_, number) => [fits, "=2"][number]!, letters);
    const use = async ({ client, session }: { client: OpenAI } & GatewayAccess): Promise<void> => {
      const response_format = {
        type: "json_schema" as const,
        json_schema: { name: "answer", schema: form, strict: true },
      };
      const { choices } = await client.chat.completions.parse({ ...ASK, response_format });
      expect(choices[0]!.message.parsed).toEqual({ e: "1" });
      await expect(client.chat.completions.parse({ ...ASK, response_format })).rejects.toThrow("JSON");
      expect(session.counts).toMatchObject({ formsNotEnforced: 2, failed: 0 });
    };
    await withSession(rollout, use, {}, { tokenizer: letters });
  });

  it("gets a call where the policy makes one, and its text where it does not", async () => {
    const rollout = new ScriptedRollout((_, number) => [callOf("1"), "=2"][number]!);
    await withSession(rollout, async ({ client }) => {
      const asked = { ...ASK, tools: [CALC], tool_choice: "required" as const };
      expect((await client.chat.completions.create(asked)).choices[0]!.message.tool_calls).toHaveLength(1);
      expect((await client.chat.completions.create(asked)).choices[0]!.message.content).toBe("=2");
    });
  });
});
