import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { interactions } from "../../plugins/interaction/index.ts";
import { converse, registerOnce } from "../agent/support/conversation.ts";
import { said, testInteractions } from "../agent/support/interactions.ts";

registerOnce([...interactions, ...testInteractions]);
beforeEach(() => void said.splice(0));

const again = {
  interactions: "interaction:\n  - name: again\n    class_name: test-again\n",
  row: { extra_info: { interaction_kwargs: { name: "again" } } },
};

describe("an interaction", () => {
  it("answers until it is done, and is finished", async () => {
    const { text, trajectory } = await converse({ ...again, say: (turn) => `try ${turn}` });
    expect(text).toBe(
      "try 0<|end|>⟦\n<|user|>again<|end|>\n<|assistant|>⟧try 1<|end|>⟦\n<|user|>again<|end|>\n<|assistant|>⟧try 2<|end|>",
    );
    expect(trajectory).toMatchObject({ numTurns: 7, stopReason: "stop" });
    expect(trajectory.extraFields).toMatchObject({
      turn_scores: [0.1, 0.2, 0.3],
      interaction_score: 0.5,
      termination_reason: "interaction",
    });
    expect(said).toEqual(["start again", ...[0, 1, 2].map((turn) => `respond to "try ${turn}"`), "finalize"]);
  });

  it("scores the last turn too, and is finished when it throws", async () => {
    const last = await converse({ ...again, overrides: ["max_assistant_turns=1"], say: () => "x" });
    expect(last.trajectory.extraFields).toMatchObject({
      turn_scores: [0.1],
      termination_reason: "max_assistant_turns",
    });
    const none = await converse({ ...again, overrides: ["max_user_turns=1"], say: () => "x" });
    expect(none.trajectory.extraFields).toMatchObject({ turn_scores: [0.1], termination_reason: "max_user_turns" });
    said.splice(0);
    await expect(converse({ ...again, say: () => "fail" })).rejects.toThrow("the user left");
    expect(said.at(-1)).toBe("finalize");
  });

  it("is not appended when it does not fit", async () => {
    const { trajectory, metrics } = await converse({ ...again, maxTokens: 8, say: () => "x" });
    expect(trajectory.segments).toHaveLength(1);
    expect(trajectory.extraFields.termination_reason).toBe("response_length");
    expect(metrics["agent_loop/results_not_shown_count"]).toBe(1);
  });

  it("has to be one of the file's", async () => {
    await expect(
      converse({ ...again, row: { interaction_kwargs: { name: "agian" } }, say: () => "x" }),
    ).rejects.toMatchObject({ code: "VERL_AGENT_INTERACTION", hint: expect.stringContaining("again") as unknown });
    await expect(converse({ ...again, row: {}, say: () => "x" })).rejects.toThrow("A row names no interaction");
    const text = converse({ ...again, row: { interaction_kwargs: "again" }, say: () => "x" });
    await expect(text).rejects.toThrow('interaction_kwargs is the string "again", not an object');
  });
});

describe("an interactions file", () => {
  it.each([
    ["{ class_name: test-again, nmae: a }", "a field `nmae`"],
    ["{ class_name: test-again, name: 3 }", "3 as its `name`"],
    ["{ class_name: test-again }\n  - { class_name: test-again }", 'Two interactions are called "test-again"'],
  ])("is refused for %s", async (entry, message) => {
    const row = { interaction_kwargs: { name: "test-again" } };
    const run = converse({ interactions: `interaction:\n  - ${entry}\n`, row, say: () => "x" });
    await expect(run).rejects.toMatchObject({
      code: "VERL_AGENT_FILE",
      message: expect.stringContaining(message) as unknown,
    });
  });
});

describe("an interaction that does not do its part", () => {
  const odd = (kwargs: object) =>
    converse({
      interactions: "interaction:\n  - { name: odd, class_name: test-odd }\n",
      row: { interaction_kwargs: { name: "odd", ...kwargs } },
      overrides: ["tool_timeout_s=0.05"],
      say: () => "x",
    });

  it.each(["respond", "calcScore"])("is given up when its %s hangs, and finished", async (hangs) => {
    await expect(odd({ hangs })).rejects.toThrow("timed out after 0.05 s");
    expect(said).toEqual(["finalize odd"]);
  });

  it("is finished when it starts too late, and the run does not wait for that", async () => {
    await expect(odd({ hangs: "start" })).rejects.toThrow("timed out after 0.05 s");
    expect(said).toEqual([]);
    await sleep(250);
    expect(said).toEqual(["finalize odd"]);
  });

  it.each([[null], [{}], [{ terminate: false, score: 1 }], [{ terminate: true }]])(
    "is told what its respond must return, not %j",
    async (says) => {
      await expect(odd({ says })).rejects.toThrow("Odd.respond must return { terminate, content, score }");
      expect(said).toEqual(["finalize odd"]);
    },
  );

  it.each([
    [NaN, "NaN"],
    [Infinity, "Infinity"],
    ["0.5", 'the string "0.5"'],
  ])("costs the sample when it gives %p as a score, and is finished", async (score, words) => {
    const refusal = (method: string) => ({
      code: "VERL_AGENT_REWARD",
      message: `Odd.${method} gave ${words} as a reward.`,
    });
    await expect(odd({ says: { terminate: true, score } })).rejects.toMatchObject(refusal("respond"));
    await expect(odd({ scores: score })).rejects.toMatchObject(refusal("calcScore"));
    expect(said).toEqual(["finalize odd", "finalize odd"]);
  });

  it("may give no score of the whole conversation", async () => {
    const { trajectory } = await odd({ scores: undefined });
    expect(trajectory.extraFields.interaction_score).toBeNull();
  });
});

describe("gsm8k", () => {
  it("asks again until the number after the marks is right; verl's class name means the same", async () => {
    const { text, trajectory } = await converse({
      interactions:
        "interaction:\n  - name: gsm8k\n    class_name: verl.interactions.gsm8k_interaction.Gsm8kInteraction\n    config: {}\n",
      row: { interaction_kwargs: { name: "gsm8k", ground_truth: "42" } },
      say: (turn) => ["42", "#### 41", "#### 42"][turn]!,
    });
    expect(text.match(/That is not right/g)).toHaveLength(2);
    expect(trajectory.extraFields).toMatchObject({ turn_scores: [0, 0, 1], interaction_score: 1 });
  });
});

it.each([
  [{}, "the ground truth is undefined"],
  [{ ground_truth: null }, "the ground truth is null"],
  [{ ground_truth: { target: 42 } }, "the ground truth is object"],
])("gsm8k says where a row has no ground truth: %j", async (kwargs, what) => {
  await expect(
    converse({
      interactions: "interaction:\n  - { name: gsm8k, class_name: gsm8k }\n",
      row: { interaction_kwargs: { name: "gsm8k", ...kwargs } },
      say: () => "#### 42",
    }),
  ).rejects.toMatchObject({
    code: "VERL_AGENT_INTERACTION",
    message: `A row's interaction_kwargs.ground_truth cannot be compared with: ${what}, not a string or number.`,
  });
});

describe("a user played by a model", () => {
  let server: Server;
  let url: string;
  const requests: {
    headers: Record<string, unknown>;
    body: { messages: { role: string; content: string }[]; model: string };
  }[] = [];
  let fail = 0;
  let answer: { status: number; body: string; headers?: Record<string, string> } | undefined;

  beforeAll(async () => {
    server = createServer((request, response) => {
      let text = "";
      request.setEncoding("utf8").on("data", (piece: string) => (text += piece));
      request.on("end", () => {
        requests.push({ headers: request.headers, body: JSON.parse(text) as never });
        if (answer !== undefined) return void response.writeHead(answer.status, answer.headers).end(answer.body);
        if (fail-- > 0) return void response.writeHead(500).end("busy");
        const content = requests.at(-1)!.body.messages.length > 3 ? "Thanks. ###STOP###" : "And then?";
        response
          .writeHead(200, { "content-type": "application/json" })
          .end(JSON.stringify({ choices: [{ message: { content } }] }));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  });
  afterAll(() => new Promise((resolve) => server.close(resolve)));

  const file = (more = "") =>
    `interaction:\n  - name: user\n    class_name: model_user\n    config: { base_url: "${url}", model: m${more} }\n`;
  const row = { interaction_kwargs: { name: "user", instructions: "You want tea." } };

  it("sees the conversation from its side, and ends it by its stop text", async () => {
    process.env.TEST_USER_KEY = "secret";
    fail = 1;
    const { text, trajectory } = await converse({
      interactions: file(", api_key_env: TEST_USER_KEY"),
      row,
      say: (turn) => `answer ${turn}`,
    });
    expect(text).toBe("answer 0<|end|>⟦\n<|user|>And then?<|end|>\n<|assistant|>⟧answer 1<|end|>");
    expect(trajectory.extraFields.termination_reason).toBe("interaction");
    const [first, , last] = requests;
    expect(first!.headers).toMatchObject({ authorization: "Bearer secret" });
    expect(last!.body.messages.map(({ role }) => role)).toEqual(["system", "assistant", "user", "assistant", "user"]);
    expect(last!.body.messages[0]!.content).toContain("You want tea.");
    expect(last!.body).toMatchObject({ model: "m", temperature: 0 });
  });

  it.each([
    [{ status: 500, body: "oops" }, "HTTP 500: oops (3 attempts)"],
    [{ status: 429, body: "{}", headers: { "retry-after": "20" } }, "HTTP 429: {} (1 attempt; Retry-After 20 s)"],
    [{ status: 401, body: "no key" }, "HTTP 401: no key"],
    [{ status: 200, body: "<html>" }, "the answer is no JSON: <html>"],
    [{ status: 200, body: "null" }, "the answer has no `choices[0].message.content`: null"],
    [{ status: 200, body: '{"choices":[]}' }, 'the answer has no `choices[0].message.content`: {"choices":[]}'],
  ])("fails the sample with what its service did: %j", async (given, why) => {
    answer = given;
    const interactions = file(', api_key_env: ""');
    const run = converse({ interactions, row, overrides: ["tool_timeout_s=3.4"], say: () => "x" });
    await expect(run).rejects.toThrow(`the model "m" gave no answer: ${why}`);
    answer = undefined;
  });

  it("says which variable has no key", async () => {
    await expect(
      converse({ interactions: file(", api_key_env: NOT_SET_ANYWHERE"), row, say: () => "x" }),
    ).rejects.toMatchObject({
      code: "VERL_AGENT_INTERACTION",
      message: expect.stringContaining("NOT_SET_ANYWHERE") as unknown,
    });
  });
});
