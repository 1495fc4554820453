import { connect } from "node:net";
import { describe, expect, it } from "@jest/globals";
import OpenAI, { APIError, APIUserAbortError } from "openai";
import { VerlError } from "../../core/errors/index.ts";
import { ServiceError } from "../../core/reward/service/service-error.ts";
import { generation, ScriptedRollout, withSession } from "./support.ts";

const ASK = { model: "m", messages: [{ role: "user" as const, content: "1+1" }] };
const never = (): Promise<string> => new Promise(() => {});

async function failure(request: Promise<unknown>): Promise<APIError> {
  try {
    await request;
  } catch (error) {
    return error as APIError;
  }
  throw new Error("Nothing was thrown.");
}

describe("a request that cannot be served", () => {
  it.each<[string, object, number, string | null, string | null]>([
    ["no messages", { messages: [] }, 400, "invalid_value", "messages"],
    ["a role of nobody", { messages: [{ role: "ghost", content: "" }] }, 400, "invalid_value", "messages[0].role"],
    ...["__proto__", "constructor", ["user"]].map((role): [string, object, number, string, string] => [
      `a role of every object: ${String(role)}`,
      { messages: [{ role, content: "" }] },
      400,
      "invalid_value",
      "messages[0].role",
    ]),
    ["calls one by one or not", { parallel_tool_calls: "no" }, 400, "invalid_value", "parallel_tool_calls"],
    [
      "an image",
      { messages: [{ role: "user", content: [{ type: "image_url" }] }] },
      400,
      "invalid_value",
      "messages[0].content",
    ],
    ...[
      { type: "object", properties: null },
      { properties: { a: { enum: "x" } } },
      { $ref: 5 },
      { anyOf: {} },
      { $schema: "https://json-schema.org/draft/2020-12/schema", type: "text" },
      [],
    ].map((parameters): [string, object, number, string, string] => [
      `parameters that are no JSON Schema: ${Object.keys(parameters).join()}`,
      { tools: [{ type: "function", function: { name: "f", parameters } }] },
      400,
      "invalid_value",
      "tools[0].function.parameters",
    ]),
    ["a temperature out of range", { temperature: 3 }, 400, "invalid_value", "temperature"],
    ["letters without a token", { messages: [{ role: "user", content: "Zürich" }] }, 400, null, null],
  ])("is told so in OpenAI's form: %s", async (_, change, status, code, param) => {
    await withSession(new ScriptedRollout(() => "=2"), async ({ client, session }) => {
      const error = await failure(client.chat.completions.create({ ...ASK, ...change } as never));
      expect(error).toBeInstanceOf(APIError);
      expect(error).toMatchObject({ status, code, param, type: "invalid_request_error" });
      expect(session.exchanges).toEqual([]);
      expect(session.counts).toMatchObject({ failed: 1, requests: 0, aborted: 0 });
    });
  });

  it("is no harm when its body is no request at all", async () => {
    await withSession(
      new ScriptedRollout(() => "=2"),
      async ({ baseURL, apiKey, session }) => {
        const post = async (body: string, path = "/chat/completions", key = apiKey) => {
          const response = await fetch(baseURL + path, {
            method: "POST",
            body,
            headers: { authorization: `Bearer ${key}` },
          });
          return [response.status, ((await response.json()) as { error: { message: string } }).error.message] as const;
        };
        expect(await post("{")).toEqual([400, expect.stringContaining("not JSON")]);
        expect(await post("[]")).toEqual([400, "The body must be a JSON object."]);
        expect(await post(`{"a":${"[".repeat(500)}`)).toEqual([400, expect.stringContaining("nested deeper")]);
        expect(await post(JSON.stringify({ text: "x".repeat(5000) }))).toEqual([
          413,
          expect.stringContaining("4096 bytes"),
        ]);
        const bearer = { authorization: `Bearer ${apiKey}` };
        expect((await fetch(`${baseURL}/models/%E0%A4%A`, { headers: bearer })).status).toBe(404);
        expect(await post("{}", "/embeddings")).toEqual([404, expect.stringContaining("/v1/embeddings")]);
        expect(session.counts).toMatchObject({ failed: 6, requests: 0 });
        for (const key of ["", "x", `${apiKey}x`, apiKey.slice(0, -1), `${apiKey.split(".")[0]}.`]) {
          expect(await post("{}", "/chat/completions", key)).toEqual([401, expect.stringContaining("API key")]);
        }
        expect(session.counts.failed).toBe(6);
      },
      {},
      { limits: { maxBytes: 4096 } },
    );
  });

  it("is refused when its conversation has no room left, and the session knows", async () => {
    const rollout = new ScriptedRollout(() => "=2");
    const sampling = { temperature: 1, top_k: -1, top_p: 1, max_tokens: 8, stop_token_ids: [], seed: 0 };
    await withSession(
      rollout,
      async ({ client, session }) => {
        await client.chat.completions.create(ASK);
        expect(rollout.requests[0]!.sampling.max_tokens).toBe(8);
        const more = [
          { role: "assistant" as const, content: "=2" },
          { role: "user" as const, content: "3" },
        ];
        const messages = [...ASK.messages, ...more];
        await client.chat.completions.create({ model: "m", messages });
        expect(rollout.requests[1]!.sampling.max_tokens).toBe(1);
        expect(session.refusals.size).toBe(0);
        const longer = [
          ...messages,
          { role: "assistant" as const, content: "=" },
          { role: "user" as const, content: "4" },
        ];
        const error = await failure(client.chat.completions.create({ model: "m", messages: longer }));
        expect(error).toMatchObject({ status: 400, code: "context_length_exceeded" });
        expect(session.refusals.size).toBe(1);
      },
      { sampling, promptLength: 7 },
    );
  });

  it("is refused where it begins a run with too long a prompt, and in its midst where a batch has no place for it", async () => {
    const sampling = { temperature: 1, top_k: -1, top_p: 1, max_tokens: 8, stop_token_ids: [], seed: 0 };
    const rollout = new ScriptedRollout(() => "=2");
    const ask = (content: string) => ({ model: "m", messages: [{ role: "user" as const, content }] });
    await withSession(
      rollout,
      async ({ client, session }) => {
        const long = ask("1+1+1+1");
        const code = "context_length_exceeded";
        const first = await failure(client.chat.completions.create(long));
        expect(first).toMatchObject({ status: 400, code, message: expect.stringContaining("a prompt may have 7") });
        expect(session.counts.historyBreaks).toBe(0);
        await client.chat.completions.create(ASK);
        await client.chat.completions.create(long);
        expect(rollout.requests[1]!.sampling.max_tokens).toBe(5);
        const longer = await failure(client.chat.completions.create(ask("1+1+1+1+1+1+1")));
        expect(longer).toMatchObject({ status: 400, code, message: expect.stringContaining("it may have 15") });
        expect(longer.message).toContain("Only append to the messages");
        expect(session.counts.historyBreaks).toBe(2);
      },
      { sampling, promptLength: 7 },
    );
  });

  it("is refused beyond the session's number of requests, in all and at once", async () => {
    const rollout = new ScriptedRollout((_, number) => (number === 0 ? never() : "=2"));
    await withSession(
      rollout,
      async ({ client, session }) => {
        const abort = new AbortController();
        const first = failure(client.chat.completions.create(ASK, { signal: abort.signal }));
        while (rollout.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
        expect(await failure(client.chat.completions.create(ASK))).toMatchObject({ status: 429 });
        abort.abort();
        await first;
        while (session.counts.aborted === 0) await new Promise((resolve) => setTimeout(resolve, 5));
        await client.chat.completions.create(ASK);
        const third = await failure(client.chat.completions.create(ASK));
        expect(third).toMatchObject({ status: 400, code: "request_limit_exceeded" });
        expect(session.counts).toMatchObject({ requests: 1, aborted: 1, failed: 2 });
      },
      { maxConcurrent: 1, maxRequests: 2 },
    );
  });

  it.each([
    [429, Object.assign(new Error("busy"), { status: 429, headers: { "retry-after": "1.5" } }), "2"],
    [503, new Error("the engine failed", { cause: new ServiceError("HTTP 503", 503, 7) }), "7"],
    [503, Object.assign(new Error("starting"), { statusCode: 503 }), undefined],
  ])("is told when to come again by an engine that is busy: %s", async (status, error, after) => {
    await withSession(new ScriptedRollout(() => Promise.reject(error)), async ({ client }) => {
      for (const stream of [false, true]) {
        const told = await failure(client.chat.completions.create({ ...ASK, stream }));
        expect(told).toMatchObject({ status, message: `${status} ${error.message}` });
        expect(told.headers!.get("retry-after") ?? undefined).toBe(after);
      }
    });
  });

  it.each([
    ["fewer tokens than log-probs", [29, 3], [-1, -2, -3], "2 tokens but 3 log-probs"],
    ["fewer log-probs than tokens", [29, 15, 3], [-1], "3 tokens but 1 log-probs"],
    ["a log-prob that is no number", [29, 3], [-1, NaN], "a log-prob of NaN (token 1)"],
    ["a positive log-prob", [29, 3], [0.5, -1], "a log-prob of 0.5 (token 0)"],
    ["a token of probability 0", [29, 3], [-Infinity, -1], "a log-prob of -Infinity (token 0)"],
  ])("is told of an engine's answer with %s, of which nothing is kept", async (_, ids, logprobs, message) => {
    const rollout = new ScriptedRollout((_prompt, number) => (number < 2 ? generation(ids, logprobs) : "=2"));
    await withSession(rollout, async ({ client, session }) => {
      for (const stream of [false, true]) {
        const told = await failure(client.chat.completions.create({ ...ASK, stream }));
        expect(told).toMatchObject({ status: 502, type: "server_error", message: expect.stringContaining(message) });
      }
      expect(session.exchanges).toEqual([]);
      expect(session.fault!.error).toMatchObject({
        code: "VERL_AGENT_TRAJECTORY",
        message: expect.stringContaining(message),
      });
      await client.chat.completions.create(ASK);
      expect(session.fault).toBeUndefined();
      expect(session.counts).toMatchObject({ failed: 2, requests: 1 });
    });
  });

  it("takes what rounding makes of a sure token's log-prob", async () => {
    await withSession(new ScriptedRollout(() => generation([29, 3], [1e-7, 0])), async ({ client }) => {
      expect((await client.chat.completions.create(ASK)).choices[0]!.message.content).toBe("=");
    });
  });

  it("tells an engine's failure as a server error, and its refusal as the request's", async () => {
    const fails = [new Error("out of memory"), new VerlError("VERL_ROLLOUT_REQUEST", "top_p is 2.")];
    const rollout = new ScriptedRollout((_, number) => Promise.reject(fails[number]!));
    await withSession(rollout, async ({ client, session }) => {
      expect(await failure(client.chat.completions.create(ASK))).toMatchObject({ status: 500, type: "server_error" });
      expect(await failure(client.chat.completions.create(ASK))).toMatchObject({ status: 400 });
      expect(session.counts.failed).toBe(2);
    });
  });
});

describe("sampling", () => {
  const wanted = { ...ASK, temperature: 0.2, top_p: 0.5, seed: 3 };

  it("is the run's where a policy is trained, and requests for another are counted", async () => {
    const rollout = new ScriptedRollout(() => "=2");
    await withSession(rollout, async ({ client, session }) => {
      await client.chat.completions.create({ ...ASK, temperature: 1 });
      expect(session.counts.samplingOverridden).toBe(0);
      await client.chat.completions.create(wanted);
      expect(rollout.requests[1]!.sampling).toMatchObject({ temperature: 1, top_p: 1 });
      expect(session.counts.samplingOverridden).toBe(1);
      const seeds = rollout.requests.map(({ sampling }) => sampling.seed);
      expect(seeds[0]).toBe(5);
      expect(seeds[1]).not.toBe(5);
    });
  });

  it("is the request's elsewhere", async () => {
    const rollout = new ScriptedRollout(() => "=2");
    await withSession(
      rollout,
      async ({ client }) => {
        await client.chat.completions.create(wanted);
        expect(rollout.requests[0]!.sampling).toMatchObject({ temperature: 0.2, top_p: 0.5, seed: 3 });
      },
      { choosesSampling: true },
    );
  });
});

describe("a client", () => {
  it.each([false, true])(
    "that goes away ends its generation, of which nothing is kept (streaming: %s)",
    async (stream) => {
      const rollout = new ScriptedRollout(never);
      await withSession(rollout, async ({ client, session }) => {
        const abort = new AbortController();
        const request = failure(client.chat.completions.create({ ...ASK, stream }, { signal: abort.signal }));
        while (rollout.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
        abort.abort();
        expect(await request).toBeInstanceOf(APIUserAbortError);
        while (session.counts.aborted === 0) await new Promise((resolve) => setTimeout(resolve, 5));
        expect(rollout.aborted).toBe(1);
        expect(session.counts).toMatchObject({ aborted: 1, requests: 0 });
        expect(session.exchanges).toEqual([]);
      });
    },
  );

  it("that is slow to ask is let go", async () => {
    await withSession(
      new ScriptedRollout(() => "=2"),
      async ({ baseURL, apiKey }) => {
        const started = Date.now();
        const answers = await Promise.all(
          [
            "POST /v1/chat/completions HTTP/1.1\r\nx: ",
            `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${apiKey}\r\ncontent-length: 100\r\n\r\n{"`,
          ].map(
            (text) =>
              new Promise<string>((resolve) => {
                let answer = "";
                const socket = connect(Number(new URL(baseURL).port), "127.0.0.1", () => socket.write(text));
                socket.on("data", (data) => void (answer += data.toString()));
                socket.on("close", () => resolve(answer));
                socket.on("error", () => resolve(answer));
              }),
          ),
        );
        // By default the first would be given ten seconds.
        expect(Date.now() - started).toBeLessThan(9000);
        expect(answers[0]).toContain("408");
        expect(answers[1]).toContain("408");
      },
      {},
      { limits: { headersTimeout: 200, requestTimeout: 400 } },
    );
  });

  it("has no more to say when its session ends, and neither has the server after the last", async () => {
    const rollout = new ScriptedRollout((_, number) => (number === 0 ? never() : "=2"));
    await withSession(rollout, async ({ client, session, gateway, baseURL }) => {
      const other = await gateway.open({
        rollout,
        sampling: { temperature: 1, top_k: -1, top_p: 1, max_tokens: 9, stop_token_ids: [], seed: 0 },
        choosesSampling: false,
      });
      expect(other.baseURL).toBe(baseURL);
      const hanging = failure(client.chat.completions.create(ASK));
      while (rollout.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      await gateway.close(session);
      expect((await hanging).status).toBe(503);
      expect((await failure(client.chat.completions.create(ASK))).status).toBe(401);
      const second = new OpenAI({ baseURL, apiKey: other.apiKey, maxRetries: 0 });
      expect((await second.chat.completions.create(ASK)).choices[0]!.message.content).toBe("=2");
      await gateway.close(other.session);
      await expect(fetch(`${baseURL}/models`)).rejects.toThrow("fetch failed");
    });
  });
});
