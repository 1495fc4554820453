import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { tools } from "../../plugins/tool/index.ts";
import { callOf, converse, registerOnce, toolAgent } from "../agent/support/conversation.ts";

registerOnce(tools);

/** A service that answers by `reply`. */
let reply: (body: Record<string, unknown>, response: ServerResponse) => void;
const bodies: Record<string, unknown>[] = [];
let server: Server;
let url: string;

beforeAll(async () => {
  server = createServer((request: IncomingMessage, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (piece: string) => (text += piece));
    request.on("end", () => {
      bodies.push(JSON.parse(text) as Record<string, unknown>);
      reply(bodies.at(-1)!, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
beforeEach(() => void bodies.splice(0));
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const json = (response: ServerResponse, value: unknown): void =>
  void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));

/** What the model is told of one call. */
async function told(file: string, call: string, row: Record<string, unknown> = {}): Promise<string> {
  const { text } = await converse({
    tools: file,
    row,
    overrides: ["max_tool_response_length=2000"],
    say: (turn) => (turn === 0 ? call : "done"),
  });
  return /<\|tool\|>([\s\S]*?)<\|end\|>/.exec(text)![1]!;
}

describe("calculator", () => {
  const named = `tools:
  - class_name: calculator
    tool_schema:
      type: function
      function: { name: calc, description: d, parameters: { type: object, properties: { e: { type: string } }, required: [e] } }
`;

  it("evaluates, under the name and the argument of the tools file", async () => {
    expect(await told("tools:\n  - class_name: calculator\n", callOf("calculator", { expression: "0.1+0.2" }))).toBe(
      "0.3",
    );
    expect(await told(named, callOf("calc", { e: "123+456" }))).toBe("579");
    expect(await told(named, callOf("calc", { e: "1/0" }))).toBe("Error when executing tool: division by zero");
    expect(await told(named, callOf("calc"))).toContain("must have required property 'e'");
  });
});

describe("gsm8k", () => {
  const file = "tools:\n  - class_name: verl.tools.gsm8k_tool.Gsm8kTool\n    config: { type: native }\n";
  const row = { tools_kwargs: { calc_gsm8k_reward: { create_kwargs: { ground_truth: "72" } } } };

  it("scores answers, punishes those that are no better, and remembers the last one", async () => {
    const answers = ["70", "72", "72"];
    const { trajectory, text } = await converse({
      tools: file,
      row,
      say: (turn) => (turn < 3 ? callOf("calc_gsm8k_reward", { answer: answers[turn] }) : "#### 72"),
    });
    expect(text).toContain('The answer "70" is wrong: reward 0.');
    expect(trajectory.extraFields).toMatchObject({
      tool_rewards: [-0.05, 0, -0.05],
      tool_session_rewards: { calc_gsm8k_reward: 1 },
    });
  });
});

describe("gsm8k without the right answer in the row", () => {
  it("says where it belongs", async () => {
    const file = "tools:\n  - class_name: gsm8k\n";
    expect(await told(file, callOf("calc_gsm8k_reward", { answer: "1" }))).toContain(
      "create_kwargs.ground_truth cannot be compared with: the ground truth is undefined",
    );
  });
});

describe("search", () => {
  const file = (more = "") =>
    `tools:\n  - class_name: search\n    config: { retrieval_service_url: "${url}/retrieve", topk: 2${more} }\n`;

  it("asks the service for all queries at once, and shows what it found", async () => {
    reply = (_, response) =>
      json(response, {
        result: [
          [{ document: { contents: "Oslo\nThe capital of Norway." }, score: 1 }, { contents: "Bergen\nA town." }],
          [],
        ],
      });
    const result = await told(file(), callOf("search", { query_list: ["capital", "none"] }));
    expect(bodies).toEqual([{ queries: ["capital", "none"], topk: 2, return_scores: true }]);
    expect(JSON.parse(result)).toEqual({
      result: "Doc 1 (Title: Oslo)\nThe capital of Norway.\nDoc 2 (Title: Bergen)\nA town.\n---\n",
    });
  });

  it("goes where the service sends it, as to an address with a slash", async () => {
    reply = (_, response) =>
      bodies.length < 2
        ? void response.writeHead(307, { location: "/retrieve/" }).end()
        : json(response, { result: [[]] });
    expect(JSON.parse(await told(file(), callOf("search", { query_list: ["x"] })))).toEqual({ result: "" });
    expect(bodies).toHaveLength(2);
  });

  it("asks again when the service is busy, and gives up when it refuses or takes too long", async () => {
    reply = (_, response) =>
      bodies.length < 3 ? void response.writeHead(503).end() : json(response, { result: [[]] });
    expect(JSON.parse(await told(file(), callOf("search", { query_list: ["x"] })))).toEqual({ result: "" });
    expect(bodies).toHaveLength(3);
    reply = (_, response) => void response.writeHead(400).end("no such index");
    expect(await told(file(), callOf("search", { query_list: ["x"] }))).toBe(
      "Error when executing tool: the retrieval service gave no result: HTTP 400: no such index",
    );
    reply = () => undefined;
    expect(await told(file(", timeout: 0.1"), callOf("search", { query_list: ["x"] }))).toBe(
      "Error when executing tool: timed out after 0.1 s",
    );
  });
});

describe("a service that fails", () => {
  const search = (timeout = 30): string =>
    `tools:\n  - class_name: search\n    config: { retrieval_service_url: "${url}/retrieve", timeout: ${timeout} }\n`;
  const sandbox = (): string =>
    `tools:\n  - class_name: sandbox_fusion\n    config: { sandbox_fusion_url: "${url}/run_code" }\n`;
  const asked = (timeout?: number) => told(search(timeout), callOf("search", { query_list: ["x"] }));
  const ran = () => told(sandbox(), callOf("code_interpreter", { code: "1" }));
  const failed = "Error when executing tool: the retrieval service gave no result: ";
  const noRun = "Error when executing tool: the sandbox gave no result: ";

  it("is told with its status and how often it was asked, where its time runs out too", async () => {
    // The third is after a second and a half, and no fourth before three and a half.
    reply = (_, response) => void response.writeHead(500).end("oops");
    expect(await asked(3.4)).toBe(`${failed}HTTP 500: oops (3 attempts)`);
    expect(await ran()).toBe(`${noRun}HTTP 500: oops (1 attempt)`);
    reply = (_, response) => void response.destroy();
    expect(await asked(3.4)).toBe(`${failed}fetch failed: other side closed (3 attempts)`);
    expect(await ran()).toBe(`${noRun}fetch failed: other side closed (1 attempt)`);
  });

  it("is told with what went wrong before, when it stalls at last", async () => {
    reply = (_, response) => (bodies.length > 1 ? undefined : void response.writeHead(503).end("busy"));
    expect(await asked(2.5)).toBe(
      "Error when executing tool: timed out after 2.5 s; before: HTTP 503: busy (1 attempt)",
    );
  });

  it("is given up at once when it wants to be asked after the call's time", async () => {
    reply = (_, response) => void response.writeHead(429, { "retry-after": "60" }).end("slow down");
    expect(await asked(50)).toBe(`${failed}HTTP 429: slow down (1 attempt; Retry-After 60 s)`);
    expect(await ran()).toBe(`${noRun}HTTP 429: slow down (1 attempt; Retry-After 60 s)`);
  });

  it.each([
    ["null", "null"],
    ["[]", "[]"],
    ['{"detail":"no index"}', '{"detail":"no index"}'],
    ['{"result":[null],"status":null}', '{"result":[null],"status":null}'],
    [`{"result":"${"x".repeat(500)}"}`, `{"result":"${"x".repeat(189)}…`],
  ])("is told with what it answered: %s", async (body, shown) => {
    reply = (_, response) => void response.writeHead(200).end(body);
    expect(await asked()).toBe(`${failed}the answer has no list \`result\` of lists of documents: ${shown}`);
    expect(await ran()).toBe(`${noRun}the answer has no \`status\`: ${shown}`);
  });

  it("may leave fields of a document out, or have others in their place", async () => {
    reply = (_, response) => json(response, { result: [[{}, { contents: 3 }, { document: { title: "Oslo" } }]] });
    const documents = "Doc 1 (Title: )\n\nDoc 2 (Title: )\n\nDoc 3 (Title: Oslo)\n";
    expect(JSON.parse(await asked())).toEqual({ result: documents });
  });
});

describe("sandbox_fusion", () => {
  const file = () =>
    `tools:\n  - class_name: sandbox_fusion\n    config: { sandbox_fusion_url: "${url}/run_code", rate_limit: 1000 }\n`;
  const run = (fields: object) => ({ status: "Finished", return_code: 0, stdout: "", stderr: "", ...fields });
  const call = () => callOf("code_interpreter", { code: "print(6*7)" });

  it("runs programs, and shows what they print and how they fail", async () => {
    reply = (_, response) => json(response, { status: "Success", run_result: run({ stdout: "42\n" }) });
    expect(await told(file(), call())).toBe("42\n");
    expect(bodies[0]).toMatchObject({ code: "print(6*7)", language: "python", run_timeout: 30 });
    reply = (_, response) =>
      json(response, { status: "Failed", run_result: run({ return_code: 1, stdout: "a\n", stderr: "NameError" }) });
    expect(await told(file(), call())).toBe("a\nNameError");
    reply = (_, response) => json(response, { status: "Success", run_result: run({}) });
    expect(await told(file(), call())).toBe("The program printed nothing.");
    reply = (_, response) => json(response, { status: "Failed", run_result: run({ status: "TimeLimitExceeded" }) });
    expect(await told(file(), call())).toBe("The program ran longer than 30 s.");
    reply = (_, response) => void response.writeHead(500).end("down");
    expect(await told(file(), call())).toContain("Error when executing tool: the sandbox gave no result: HTTP 500");
  });
});

/** Each line holds the one before ten times. */
function bomb(): string {
  const lines = Array.from({ length: 9 }, (_, i) => `${i + 1}: &a${i + 1} [${Array(10).fill(`*a${i}`).join(", ")}]`);
  return `0: &a0 [x]\n${lines.join("\n")}\ntools: *a9\n`;
}

describe("a tools file", () => {
  it.each([
    ["no list", "tool: []\n", "no list of maps under `tools`"],
    ["bad YAML", "tools: [\n", "not valid YAML"],
    ["an entry without class", "tools:\n  - config: {}\n", "`class_name`"],
    ["options that are no map", "tools:\n  - { class_name: search, config: 3 }\n", "`config`, which is a map"],
    ["an alias without end", "tools: &a\n  - *a\n", "no list of maps"],
    ["aliases that unfold to much", bomb(), "alias"],
  ])("is refused for %s", async (_, file, message) => {
    await expect(toolAgent({ tools: file }).parts.tools()).rejects.toMatchObject({
      code: "VERL_AGENT_FILE",
      message: expect.stringContaining(message) as unknown,
    });
  });

  const calculator = (more: string): string => `tools:\n  - { class_name: calculator, ${more} }\n`;

  it.each([
    ["timout_s: 3", "VERL_AGENT_FILE", "a field `timout_s`", 'Did you mean "timeout_s"?'],
    ["tool_schemaa: {}", "VERL_AGENT_FILE", "a field `tool_schemaa`", 'Did you mean "tool_schema"?'],
    ["timeout_s: '0.05'", "VERL_AGENT_FILE", '"0.05" as its `timeout_s`', "a number of seconds"],
    ["timeout_s: 0", "VERL_AGENT_FILE", "0 as its `timeout_s`", "a number of seconds"],
    ["tool_schema: 3", "VERL_AGENT_TOOL", "without `function`", "{ type: function, function:"],
    ["tool_schema: { type: function }", "VERL_AGENT_TOOL", "without `function`", "{ type: function, function:"],
    ["tool_schema: { function: { nam: calc } }", "VERL_AGENT_TOOL", "without `function.name`", "{ type: function"],
    ["tool_schema: { function: { name: calc } }", "VERL_AGENT_TOOL", "without `function.parameters`", "JSON Schema"],
    ["mcp: {}", "VERL_OPTIONS_INVALID", "no option `mcp`", "verl info tool calculator"],
  ])("is refused for %s", async (more, code, message, hint) => {
    await expect(toolAgent({ tools: calculator(more) }).parts.tools()).rejects.toMatchObject({
      code,
      message: expect.stringContaining(message) as unknown,
      hint: expect.stringContaining(hint) as unknown,
      location: { path: "actor_rollout_ref.rollout.multi_turn.tool_config_path" },
    });
  });

  it("may leave fields empty", async () => {
    const { parts } = toolAgent({ tools: calculator("config: , tool_schema: , timeout_s: ") });
    expect([...(await parts.tools()).keys()]).toEqual(["calculator"]);
  });

  it("is refused for an unknown tool, an unknown option, and one name twice", async () => {
    const open = (file: string) => toolAgent({ tools: `tools:\n${file}` }).parts.tools();
    await expect(open("  - class_name: calculatr\n")).rejects.toMatchObject({
      code: "VERL_REGISTRY_KEY_UNKNOWN",
      hint: expect.stringContaining("calculator") as unknown,
    });
    await expect(open("  - { class_name: search, config: { top_k: 3 } }\n")).rejects.toMatchObject({
      code: "VERL_OPTIONS_INVALID",
      message: expect.stringContaining("topk") as unknown,
    });
    await expect(open("  - class_name: calculator\n  - class_name: calculator\n")).rejects.toMatchObject({
      code: "VERL_AGENT_TOOL",
      hint: expect.stringMatching(/tool_schema; .*tool_selected_list .*tool_name_prefix/) as unknown,
    });
  });
});
