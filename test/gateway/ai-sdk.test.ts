import { describe, expect, it } from "@jest/globals";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import { branchEnds, tellsRefusal, trajectoryOf, type GatewayAccess } from "../../core/agent/gateway/index.ts";
import { calculating, ScriptedRollout, tokenizer, withSession } from "./support.ts";

const calc = tool({
  description: "Evaluates an expression.",
  inputSchema: jsonSchema<{ e: string }>({ type: "object", properties: { e: { type: "string" } }, required: ["e"] }),
  execute: ({ e }) =>
    String(
      e
        .split("+")
        .map(Number)
        .reduce((a, b) => a + b),
    ),
});

describe("an agent written with the Vercel AI SDK", () => {
  it.each([false, true])(
    "runs unchanged, and its tokens are kept as one trajectory (streaming: %s)",
    async (streams) => {
      await withSession(new ScriptedRollout(calculating), async ({ baseURL, apiKey, session }) => {
        const model = createOpenAICompatible({ name: "policy", baseURL, apiKey, includeUsage: true })("policy");
        const call = { model, prompt: "17+25", tools: { calc }, stopWhen: stepCountIs(4), maxRetries: 0 };
        const result = streams ? streamText(call) : await generateText(call);
        expect(await result.text).toBe("=42");
        expect((await result.steps).map(({ finishReason }) => finishReason)).toEqual(["tool-calls", "stop"]);
        expect(await result.totalUsage).toMatchObject({
          outputTokens: session.exchanges.reduce((sum, { answer }) => sum + answer.ids.length, 0),
        });
        const ends = branchEnds(session.exchanges);
        expect(ends).toHaveLength(1);
        expect(tokenizer.decode(trajectoryOf(ends[0]!).segments[1]!.ids)).toBe(
          "<tool_response>42</tool_response><|assistant|>",
        );
      });
    },
  );

  it.each([false, true])("throws what comes of a refusal (streaming: %s)", async (streams) => {
    const use = async ({ baseURL, apiKey, session }: GatewayAccess): Promise<void> => {
      const model = createOpenAICompatible({ name: "policy", baseURL, apiKey })("policy");
      const call = { model, prompt: "1+1+1+1+1", maxRetries: 0, onError: () => undefined };
      const thrown: unknown = await Promise.resolve(streams ? streamText(call).text : generateText(call)).catch(
        (error: unknown) => error,
      );
      expect(tellsRefusal(thrown, session.refusals)).toBe(true);
      expect(tellsRefusal(thrown, new Set())).toBe(false);
      expect(tellsRefusal(new TypeError("a bug"), session.refusals)).toBe(false);
    };
    await withSession(new ScriptedRollout(calculating), use, { promptLength: 5 });
  });
});
