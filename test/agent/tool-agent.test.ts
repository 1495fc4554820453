import { beforeEach, describe, expect, it } from "@jest/globals";
import { FakeRollout } from "./fake-rollout.ts";
import { callOf, converse, registerOnce, toolAgent } from "./support/conversation.ts";
import { events, testTools, toolsFile } from "./support/tools.ts";

registerOnce(testTools);
beforeEach(() => void events.splice(0));

const ADD = toolsFile("add", "ping");

describe("the tool agent", () => {
  it("calls a tool, goes on with its result, and ends with the answer", async () => {
    const { trajectory, text, prompts, requests, calls } = await converse({
      tools: ADD,
      say: (turn) => (turn === 0 ? `Let me see. ${callOf("add", { a: 2, b: 3 })}` : "It is 5."),
    });
    expect(text).toBe(
      `Let me see. ${callOf("add", { a: 2, b: 3 })}<|end|>⟦\n<|tool|>5<|end|>\n<|assistant|>⟧It is 5.<|end|>`,
    );
    expect(prompts[1]).toBe(`<|user|>go<|end|>\n<|assistant|>${text.split("It is")[0]!.replace(/[⟦⟧]/g, "")}`);
    expect(trajectory).toMatchObject({ stopReason: "stop", numTurns: 4, weightVersion: 0 });
    expect(trajectory.extraFields).toMatchObject({ tool_calls: 1, termination_reason: "answered", tool_rewards: [] });
    expect(trajectory.segments.map(({ trainable }) => trainable)).toEqual([true, false, true]);
    for (const { ids, logprobs, trainable } of trajectory.segments)
      expect(logprobs?.length).toBe(trainable ? ids.length : undefined);
    // Each turn may have what the response has left.
    const used = trajectory.segments[0]!.ids.length + trajectory.segments[1]!.ids.length;
    expect(requests.map(({ max_tokens }) => max_tokens)).toEqual([2000, 2000 - used]);
    expect(requests[1]!.seed).not.toBe(requests[0]!.seed);
    expect(calls).toHaveLength(1);
  });

  it("runs a call before a closing tag of reasoning that the prompt did not open", async () => {
    const { calls } = await converse({
      tools: ADD,
      say: (turn) => (turn === 0 ? `${callOf("add", { a: 2, b: 3 })}\n</think>` : "It is 5."),
    });
    expect(calls).toHaveLength(1);
  });

  it("answers without tools as the single-turn loop does", async () => {
    const { text, trajectory } = await converse({ say: () => "Hello." });
    expect(text).toBe("Hello.<|end|>");
    expect(trajectory).toMatchObject({ numTurns: 2, stopReason: "stop" });
  });

  it("runs all calls of a turn, so many at once, and keeps their order", async () => {
    const say = (turn: number): string =>
      turn === 0 ? [1, 2, 3].map((n) => callOf("recorded", { n })).join("") : "done";
    const one = await converse({ tools: toolsFile("recorded"), say });
    expect(events.filter((event) => !/^(create|reward|release)/.test(event))).toEqual([
      'execute i0 {"n":1}',
      "done i0",
      'execute i0 {"n":2}',
      "done i0",
      'execute i0 {"n":3}',
      "done i0",
    ]);
    expect(one.trajectory.extraFields).toMatchObject({ tool_rewards: [0.25, 0.25, 0.25], tool_calls: 3 });
    events.splice(0);
    await converse({ tools: toolsFile("recorded"), say, overrides: ["max_parallel_calls=3"] });
    expect(events.slice(0, 4)).toEqual(["create i0", 'execute i0 {"n":1}', 'execute i0 {"n":2}', 'execute i0 {"n":3}']);
  });

  it("runs the calls of the last assistant turn", async () => {
    const { trajectory, text } = await converse({
      tools: ADD,
      overrides: ["max_assistant_turns=1"],
      say: () => callOf("add", { a: 1, b: 1 }),
    });
    expect(text).toContain("⟦\n<|tool|>2<|end|>");
    expect(trajectory).toMatchObject({ stopReason: "limit", numTurns: 3 });
    expect(trajectory.extraFields.termination_reason).toBe("max_assistant_turns");
  });

  it("tells of calls that no user turn is left for", async () => {
    const { trajectory, metrics, prompts } = await converse({
      tools: ADD,
      overrides: ["max_user_turns=1"],
      say: () => callOf("ping"),
    });
    expect(prompts).toHaveLength(2);
    expect(trajectory.extraFields).toMatchObject({ termination_reason: "max_user_turns", tool_calls: 1 });
    expect(metrics["agent_loop/calls_not_run_count"]).toBe(1);
  });

  it("executes no call of an answer that was cut, and counts it", async () => {
    const { trajectory, text, metrics } = await converse({
      tools: toolsFile("recorded"),
      say: () => ({ text: callOf("recorded"), stopReason: "length" }),
    });
    expect(events).toEqual([]);
    expect(text).toBe(callOf("recorded"));
    expect(metrics["agent_loop/calls_not_run_count"]).toBe(1);
    expect(trajectory).toMatchObject({ stopReason: "length", numTurns: 2 });
    expect(trajectory.extraFields.termination_reason).toBe("response_length");
  });

  it("has the words of an answer with calls in the history, and not the token that ended it", async () => {
    const { prompts } = await converse({
      tools: ADD,
      // Shows what the history has, once the answer is not the last message.
      template: `{% for message in messages %}<|{{ message.role }}|>{% if message.tool_calls and not loop.last %}[{{ message.content }}]{% else %}{{ message.content }}{% endif %}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}`,
      overrides: ["template_drift=fork"],
      say: (turn) => ["", "Let me see. "].map((words) => words + callOf("add", { a: 2, b: 3 }))[turn] ?? "It is 5.",
    });
    const result = "<|tool|>5<|end|>";
    expect(prompts[2]).toBe(
      `<|user|>go<|end|><|assistant|>[]<|end|>${result}<|assistant|>[Let me see.]<|end|>${result}<|assistant|>`,
    );
  });

  it("ends an empty first generation with an empty response", async () => {
    const { trajectory } = await converse({ say: () => ({ text: "", stopReason: "stop" }) });
    expect(trajectory).toMatchObject({ segments: [], stopReason: "stop" });
    expect(trajectory.extraFields.termination_reason).toBe("empty_generation");
  });

  it("hands an aborted generation on", async () => {
    const { trajectory } = await converse({ say: () => ({ text: "ab", stopReason: "abort" }) });
    expect(trajectory.stopReason).toBe("abort");
  });
});

it("tells of each call by its tool, arguments and outcome", async () => {
  const turn = [
    callOf("ping"),
    callOf("recorded", { fail: true }),
    callOf("hang", { deaf: true }),
    callOf("pong"),
    callOf("add", { a: "two", b: 3 }),
  ].join("");
  const { notes } = await converse({
    tools: toolsFile("ping", "recorded", "hang", "add"),
    overrides: ["tool_timeout_s=0.05", "max_parallel_calls=8"],
    say: (at) => (at === 0 ? turn : "done"),
  });
  const byTool = new Map(notes.map(({ name, ...rest }) => [name, rest]));
  expect(byTool.get("ping")).toEqual({ arguments: {}, outcome: "ok" });
  expect(byTool.get("recorded")).toEqual({ arguments: { fail: true }, outcome: "error", error: "no luck" });
  expect(byTool.get("hang")).toMatchObject({ outcome: "timeout", error: expect.stringContaining("timed out") });
  expect(byTool.get("pong")).toMatchObject({ outcome: "invalid", error: expect.stringContaining("no tool") });
  expect(byTool.get("add")).toMatchObject({ arguments: { a: "two", b: 3 }, outcome: "invalid" });
});

describe("calls that cannot be run", () => {
  it("are told to the model, which may go on; two in a row end the conversation where that is the limit (case 30)", async () => {
    const turns = [
      `${callOf("pong")}${callOf("ping")}`,
      callOf("add", { a: "two", b: 3 }),
      callOf("ping"),
      "<tool_call>{oops</tool_call>",
      callOf("pong"),
    ];
    const { text, trajectory, metrics } = await converse({
      tools: ADD,
      overrides: ["max_invalid_calls=2"],
      say: (turn) => turns[turn]!,
    });
    expect(text).toContain(
      '<|tool|>Error: there is no tool "pong". The tools are: add, ping.<|end|>\n<|tool|>pong<|end|>',
    );
    expect(text).toContain('<|tool|>Error: the arguments of "add" do not fit: a must be number.<|end|>');
    expect(text).toMatch(/<\|tool\|>Error: [^<]+<\|end\|>\n<\|assistant\|>⟧<tool_call>\{"name": "pong"/);
    expect(trajectory).toMatchObject({ stopReason: "limit" });
    expect(trajectory.extraFields).toMatchObject({ termination_reason: "invalid_calls" });
    expect(trajectory.segments.filter(({ trainable }) => trainable)).toHaveLength(5);
    expect(metrics["agent_loop/invalid_calls_count"]).toBe(4);
  });

  const BAD = "<tool_call>{bad}</tool_call>";

  it("are told in the order in which the model wrote its calls, with which of them could not be read", async () => {
    const { text, prompts } = await converse({
      tools: ADD,
      say: (turn) => (turn === 0 ? `${callOf("ping")}${BAD}${callOf("add", { a: 1, b: 2 })}` : "done"),
    });
    expect(prompts).toHaveLength(2);
    expect(text).toContain(
      "<|tool|>pong<|end|>\n<|tool|>Error: call 2 of 3 could not be read: the call is not valid JSON<|end|>\n<|tool|>3<|end|>",
    );
  });

  it.each([
    [2, BAD, callOf("ping"), BAD, "answered"],
    [2, callOf("pong"), callOf("ping"), callOf("pong"), "answered"],
    [2, callOf("ping"), BAD, callOf("pong"), "invalid_calls"],
    [2, callOf("ping"), callOf("pong"), BAD, "invalid_calls"],
    [1, BAD, BAD, callOf("ping"), "answered"],
    [1, callOf("ping"), callOf("ping"), BAD, "invalid_calls"],
  ])("are counted in that order: limit %i, %s %s %s", async (limit, first, second, third, reason) => {
    const { trajectory } = await converse({
      tools: ADD,
      overrides: [`max_invalid_calls=${limit}`],
      say: (turn) => (turn === 0 ? first + second + third : "done"),
    });
    expect(trajectory.extraFields.termination_reason).toBe(reason);
  });

  it("are those in reasoning that nothing follows: the model is told, and the conversation goes on", async () => {
    const lost = { text: `<think>\n${callOf("ping")}\n</think>\n\n<|im_end|>`, stopReason: "stop" as const };
    const { text, trajectory } = await converse({ tools: ADD, say: (turn) => (turn === 0 ? lost : "done") });
    expect(text).toContain("<|tool|>Error: tool call inside reasoning that nothing follows<|end|>");
    expect(trajectory.numTurns).toBe(4);
  });

  it("end nothing where there is no limit", async () => {
    const { trajectory } = await converse({ tools: ADD, say: (turn) => (turn < 6 ? callOf("pong") : "sorry") });
    expect(trajectory.extraFields.termination_reason).toBe("answered");
  });
});

describe("results", () => {
  it("that are too long lose the side that is named", async () => {
    const shown = async (side: string): Promise<string> => {
      const { text } = await converse({
        tools: toolsFile("parts", "large"),
        overrides: ["max_tool_response_length=4", `tool_response_truncate_side=${side}`],
        say: (turn) => (turn === 0 ? callOf("large") : "x"),
      });
      return /<\|tool\|>(.*?)<\|end\|>/.exec(text)![1]!;
    };
    expect(await shown("left")).toBe("(truncated)...xxxx");
    expect(await shown("right")).toBe("xxxx...(truncated)");
    expect(await shown("middle")).toBe("xx...(truncated)...xx");
  });

  it("are appended when they fit exactly, and not in part when they do not", async () => {
    const say = (turn: number): string => (turn === 0 ? callOf("ping") : "x");
    const whole = await converse({ tools: ADD, say });
    const [call, result] = whole.trajectory.segments.map(({ ids }) => ids.length);
    const exact = await converse({ tools: ADD, say, maxTokens: call! + result! });
    expect(exact.trajectory.segments).toHaveLength(2);
    expect(exact.trajectory.extraFields.termination_reason).toBe("response_length");
    const tight = await converse({ tools: ADD, say, maxTokens: call! + result! - 1 });
    expect(tight.trajectory.segments).toHaveLength(1);
    expect(tight.metrics["agent_loop/results_not_shown_count"]).toBe(1);
    expect(tight.trajectory).toMatchObject({ stopReason: "length" });
  });
});

describe("instances of tools", () => {
  it("live as long as the sample, get its kwargs, and are released whatever happens", async () => {
    const tools = toolsFile("recorded");
    const row = { extra_info: { tools_kwargs: { recorded: { create_kwargs: { who: "row" } } } } };
    const { trajectory, text } = await converse({
      tools,
      row,
      say: (turn) => [callOf("recorded"), callOf("recorded", { fail: true }), "end"][turn]!,
    });
    expect(text).toContain("Error when executing tool: no luck");
    expect(events.filter((event) => event.startsWith("create"))).toEqual(["create row0"]);
    expect(events.slice(-2)).toEqual(["reward row0", "release row0"]);
    expect(trajectory.extraFields).toMatchObject({ tool_rewards: [0.25], tool_session_rewards: { recorded: 0.75 } });
    events.splice(0);
    const failing = converse({
      tools,
      rollout: new FakeRollout((_, { seed }) => {
        if (events.length > 0) throw new Error(`server down at seed ${seed}`);
        const ids = Int32Array.from(callOf("recorded"), (letter) => 100 + letter.charCodeAt(0));
        return { ids, logprobs: new Float32Array(ids.length), stopReason: "stop", weightVersion: 0 };
      }),
      say: () => "",
    });
    await expect(failing).rejects.toThrow("server down");
    expect(events.at(-1)).toBe("release i0");
  });

  it("are only of the tools that the row selects", async () => {
    const { text } = await converse({
      tools: ADD,
      row: { tool_selection: ["ping"] },
      say: (turn) => (turn === 0 ? `${callOf("add", { a: 1, b: 2 })}${callOf("ping")}` : "x"),
    });
    expect(text).toContain('there is no tool "add". The tools are: ping.');
    await expect(converse({ tools: ADD, row: { tool_selection: ["pin"] }, say: () => "x" })).rejects.toMatchObject({
      code: "VERL_AGENT_TOOL",
      hint: "Did you mean ping? The tools are add, ping.",
    });
  });

  it.each([
    [
      { tool_selection: "ping" },
      'tool_selection is the string "ping", not a list',
      "Did you mean ping? The tools are add, ping.",
    ],
    [
      { extra_info: { tool_selection: { ping: true } } },
      "tool_selection is an object, not a list",
      "The tools are add, ping.",
    ],
    [{ tool_selection: ["ping", 3] }, "tool_selection names a number, which", "The tools are add, ping."],
    [{ tools_kwargs: "{}" }, 'tools_kwargs is the string "{}", not an object', "has to be parsed"],
    [{ extra_info: { tools_kwargs: { ping: 3 } } }, "tools_kwargs.ping is a number, not an object", "extra_info"],
    [{ tools_kwargs: { ping: { create_kwargs: [] } } }, "tools_kwargs.ping.create_kwargs is an array", "extra_info"],
  ])("are not chosen or opened by a row's %j", async (row, message, hint) => {
    await expect(converse({ tools: ADD, row, say: () => "x" })).rejects.toMatchObject({
      code: "VERL_AGENT_TOOL",
      message: expect.stringContaining(message) as unknown,
      hint: expect.stringContaining(hint) as unknown,
    });
  });

  it("that the run does not have are told of where rows have arguments for them, once", async () => {
    const { loop, parts, log, tokenizer } = toolAgent({ tools: ADD });
    const row = {
      tools_kwargs: {
        pign: { create_kwargs: {} },
        ping: { create_kwargs: null, release_kwargs: {} },
        other: null,
        add: { create_kwarg: {} },
      },
    };
    const ids = tokenizer.encode("x<|end|>");
    const rollout = new FakeRollout(() => ({
      ids,
      logprobs: new Float32Array(ids.length),
      stopReason: "stop",
      weightVersion: 0,
    }));
    const sample = { messages: [], promptIds: Int32Array.of(1), uid: "u", sampleIndex: 0, row, validate: false };
    const ctx = {
      rollout,
      sampling: { seed: 0, max_tokens: 9 },
      signal: new AbortController().signal,
      metric: () => undefined,
    };
    for (let times = 0; times < 2; times += 1) await loop.run(sample, ctx as never);
    await parts.close();
    expect(log.lines).toEqual([
      expect.stringMatching(
        /tools_kwargs for "pign", which is no tool .* Did you mean ping\? The tools are add, ping\.$/,
      ),
      expect.stringMatching(
        /Rows have tools_kwargs\.add\.create_kwarg, which nothing reads\. Did you mean create_kwargs\?/,
      ),
    ]);
  });

  it("that hang are given up after their deadline, and the conversation goes on", async () => {
    const say = (turn: number): string =>
      turn === 0 ? `${callOf("hang", { deaf: true })}${callOf("hang")}${callOf("ping")}` : "x";
    const { text, metrics } = await converse({
      tools: toolsFile("hang", "ping"),
      overrides: ["tool_timeout_s=0.05", "max_parallel_calls=3"],
      say,
    });
    expect(text.match(/Error when executing tool: timed out after 0.05 s/g)).toHaveLength(2);
    expect(text).toContain("<|tool|>pong<|end|>");
    expect(metrics["agent_loop/tool_errors_count"]).toBe(2);
  });

  it("end with the sample", async () => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(new Error("stopped")), 20);
    await expect(
      converse({ tools: toolsFile("hang"), say: () => callOf("hang"), signal: controller.signal }),
    ).rejects.toThrow("stopped");
  });
});
