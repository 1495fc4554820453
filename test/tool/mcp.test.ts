import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, jest } from "@jest/globals";
import { tools } from "../../plugins/tool/index.ts";
import { callOf, converse, fileOf, registerOnce, toolAgent } from "../agent/support/conversation.ts";

// A server is a process, and a machine may be busy.
jest.setTimeout(300_000);
registerOnce(tools);

const SERVER = join(import.meta.dirname, "fixtures/mcp-server.mjs");

const serversFile = (server: object): string =>
  fileOf("servers.json", JSON.stringify({ mcpServers: { test: server } }));
const stdio = { command: process.execPath, args: [SERVER], env: { GIVEN: "1" } };

/** A tools file in verl's form. */
const mcp = (server: object, more = ""): string => `tools:
  - class_name: verl.tools.mcp_base_tool.MCPBaseTool
    config:
      type: mcp
      rate_limit: 1000
      mcp: { mcp_servers_config_path: ${serversFile(server)}${more} }
`;

/** As a model writes it, with the digits that a number of JavaScript loses. */
const largeCall = '<tool_call>{"name": "count", "arguments": {"n": -9007199254740993}}</tool_call>';

describe("an MCP server over standard streams", () => {
  it("brings its tools, or those that are chosen, page by page", async () => {
    const all = toolAgent({ tools: mcp(stdio) });
    const offered = await all.parts.tools();
    expect([...offered.keys()]).toEqual(["echo", "die", "fail", "env", "count", "files", "big", "slow", "row"]);
    expect(offered.get("echo")!.schema).toEqual({
      type: "function",
      function: {
        name: "echo",
        description: "Repeats.",
        parameters: { type: "object", properties: { text: { type: "string" } } },
      },
    });
    await all.parts.close();
    const chosen = toolAgent({ tools: mcp(stdio, ", tool_selected_list: [fail]") });
    expect([...(await chosen.parts.tools()).keys()]).toEqual(["fail"]);
    await chosen.parts.close();
  });

  it("is asked for tools by names that it has, also where verl's files have them", async () => {
    const { parts } = toolAgent({ tools: mcp(stdio, ", tool_selected_list: [echo, ecko]") });
    await expect(parts.tools()).rejects.toMatchObject({
      code: "VERL_AGENT_TOOL",
      message:
        '`tool_selected_list` names "ecko", which no MCP server has: "test" has echo, die, fail, env, count, files, big, slow, row.',
      hint: expect.stringContaining("Did you mean echo?") as unknown,
    });
    await parts.close();
    const beside = toolAgent({
      tools: `tools:
  - class_name: verl.tools.mcp_search_tool.MCPSearchTool
    config: { type: mcp, rate_limit: 1000 }
    mcp: { mcp_servers_config_path: ${serversFile(stdio)}, tool_selected_list: [echo] }
`,
    });
    expect([...(await beside.parts.tools()).keys()]).toEqual(["echo"]);
    await beside.parts.close();
  });

  it("may have tools of another server's names, which are then told apart by the servers", async () => {
    const two = (more: string): string => `tools:
  - class_name: mcp
    config:
      mcp:
        mcp_servers_config_path: ${fileOf("servers.json", JSON.stringify({ mcpServers: { one: stdio, "t.w.o": stdio } }))}
        tool_selected_list: ${more}
`;
    const alike = toolAgent({ tools: two("[fail, echo]") });
    await expect(alike.parts.tools()).rejects.toMatchObject({
      code: "VERL_AGENT_TOOL",
      message: 'The MCP servers "one" and "t.w.o" both offer a tool "echo".',
      hint: expect.stringContaining("tool_name_prefix: true") as unknown,
    });
    await alike.parts.close();
    const { text } = await converse({
      tools: two("[one_echo, t_w_o_echo]\n        tool_name_prefix: true"),
      say: (turn) =>
        [callOf("one_echo", { text: "1" }) + callOf("t_w_o_echo", { text: "2" }), callOf("echo"), ""][turn]!,
      overrides: ["max_parallel_calls=2"],
    });
    expect(text).toMatch(/<\|tool\|>1\n.*\n<\|tool\|>2\n/);
    expect(text).toContain("The tools are: one_echo, t_w_o_echo.");
  });

  it("answers calls; its errors are told to the model, and it sees little of the environment", async () => {
    process.env.NOT_FOR_SERVERS = "secret";
    const { text } = await converse({
      tools: mcp(stdio),
      overrides: ["max_tool_response_length=2000"],
      say: (turn) => (turn === 0 ? [callOf("echo", { text: "hé" }), callOf("fail"), callOf("env")].join("") : "done"),
    });
    expect(text).toContain("<|tool|>hé\n[image/png]<|end|>");
    expect(text).toContain("<|tool|>Error when executing tool: it did not work<|end|>");
    expect(text).toContain("GIVEN");
    expect(text).not.toContain("NOT_FOR_SERVERS");
  });

  it("is sent integers to the last digit", async () => {
    const { text } = await converse({
      tools: mcp(stdio),
      say: (turn) => [largeCall, callOf("count", { n: 3 }), "done"][turn]!,
    });
    expect(text).toContain("<|tool|>-9007199254740993<|end|>");
    expect(text).toContain("<|tool|>3<|end|>");
  });

  it("gives large integers of its data to the last digit, also where the data are checked by a schema", async () => {
    const { text } = await converse({ tools: mcp(stdio), say: (turn) => (turn === 0 ? callOf("row") : "done") });
    expect(text).toContain('<|tool|>{"id":-9007199254740993,"name":"9007199254740995"}<|end|>');
  });

  it("cannot stall the run by the pattern that its data are to fit", async () => {
    const { text } = await converse({
      tools: mcp({ ...stdio, env: { STALLS: "1" } }),
      overrides: ["max_tool_response_length=2000"],
      say: (turn) => (turn === 0 ? callOf("stall") : "done"),
    });
    expect(text).toMatch(/Error when executing tool: .*must match pattern/);
  });

  it("may answer with more than is shown; an answer that is too long fails its call, and no other", async () => {
    const { text, notes } = await converse({
      tools: mcp(stdio),
      overrides: ["max_parallel_calls=3", "max_tool_response_length=40"],
      say: (turn) =>
        turn === 0
          ? [callOf("slow"), callOf("big", { letters: 2 ** 24 }), callOf("big", { letters: 10 * 2 ** 20 })].join("")
          : "done",
    });
    expect(text).toContain("<|tool|>at last<|end|>");
    expect(text).toContain(`<|tool|>${"x".repeat(20)}...(truncated)...${"x".repeat(20)}<|end|>`);
    expect(notes.map(({ error }) => error).filter(Boolean)).toEqual([
      "MCP error -32000: the answer has more than 16777216 bytes",
    ]);
  });

  it("may answer with resources, whose text is shown, and whose bytes are named", async () => {
    const { text } = await converse({ tools: mcp(stdio), say: (turn) => (turn === 0 ? callOf("files") : "done") });
    expect(text).toContain("<|tool|>what a.txt says\n[file:///b.png (image/png)]\n[file:///c.txt]<|end|>");
  });

  it("that dies in a call costs that call; the next one finds it started anew", async () => {
    const { text } = await converse({
      tools: mcp(stdio),
      say: (turn) => [callOf("die"), callOf("echo", { text: "alive" }), "done"][turn]!,
    });
    expect(text).toMatch(/<\|tool\|>Error when executing tool: .*[Cc]onnection closed/);
    expect(text).toContain("<|tool|>alive\n");
  });

  it("that does not start ends the run before its first sample, and is named", async () => {
    const { parts } = toolAgent({ tools: mcp({ command: "/nowhere/server" }) });
    await expect(parts.tools()).rejects.toMatchObject({
      code: "VERL_AGENT_TOOL",
      message: expect.stringContaining('"test"') as unknown,
    });
    await parts.close();
  });

  it("leaves no process behind", async () => {
    const processes = (): number => process.getActiveResourcesInfo().filter((kind) => kind === "ProcessWrap").length;
    const { parts } = toolAgent({ tools: mcp(stdio) });
    const before = processes();
    await parts.tools();
    expect(processes()).toBe(before + 1);
    await parts.close();
    while (processes() > before) await sleep(20);
  });
});

describe.each([
  ["events", []],
  ["JSON", ["--json"]],
])("an MCP server over streamable HTTP that answers by %s", (_, flags) => {
  let child: ChildProcess;
  let port = "0";
  const start = async (more: readonly string[] = []): Promise<void> => {
    child = spawn(process.execPath, [SERVER, "--http", port, ...flags, ...more], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = (await once(child.stdout!, "data")) as [Buffer];
    port = line.toString().trim();
  };
  const stop = async (): Promise<void> => {
    child.kill();
    await once(child, "exit");
  };
  beforeAll(() => start());
  afterAll(stop);
  const http = (token = "token"): string => mcp({ url: `http://127.0.0.1:${port}/mcp`, auth_token: token });

  it("answers calls with the token of its entry, and refuses others", async () => {
    const { text } = await converse({
      tools: http(),
      say: (turn) => [callOf("echo", { text: "over http" }), largeCall, "done"][turn]!,
    });
    expect(text).toContain("<|tool|>over http\n");
    expect(text).toContain("<|tool|>-9007199254740993<|end|>");
    const { parts } = toolAgent({ tools: http("wrong") });
    await expect(parts.tools()).rejects.toMatchObject({ code: "VERL_AGENT_TOOL" });
    await parts.close();
  });

  it("gives large integers of its data to the last digit", async () => {
    const { text } = await converse({ tools: http(), say: (turn) => (turn === 0 ? callOf("row") : "done") });
    expect(text).toContain('<|tool|>{"id":-9007199254740993,"name":"9007199254740995"}<|end|>');
  });

  it("fails a call by an answer that is too long, and no other", async () => {
    const { text, notes } = await converse({
      tools: http(),
      overrides: ["max_parallel_calls=2"],
      say: (turn) => (turn === 0 ? callOf("slow") + callOf("big", { letters: 2 ** 24 }) : "done"),
    });
    expect(text).toContain("<|tool|>at last<|end|>");
    expect(notes.map(({ error }) => error).filter(Boolean)).toEqual([
      expect.stringContaining("the answer has more than 16777216 bytes"),
    ]);
  });

  it.each([
    ["404", []],
    ["400", ["--400"]],
  ])("that is started anew and says %s is asked in a new session", async (_status, more) => {
    const { parts } = toolAgent({ tools: http() });
    const { tool } = (await parts.tools()).get("echo")!;
    const echo = (text: string) =>
      tool.execute("", { text }, { row: {}, metric: () => undefined, signal: AbortSignal.timeout(30_000) });
    await echo("before");
    await stop();
    // Connections that it has left are found closed first.
    let told = "";
    do await echo("while it is down").catch(({ message }: Error) => (told = message));
    while (told === "fetch failed: other side closed");
    expect(told).toMatch(/^fetch failed: .*ECONNREFUSED/);
    await start(more);
    const answers = await Promise.all(["a", "b", "c"].map(echo));
    expect(answers.map(({ content }) => content)).toEqual(["a", "b", "c"].map((text) => `${text}\n[image/png]`));
    await parts.close();
  });

  it("that hangs up as it is asked for a session is asked again", async () => {
    await stop();
    await start(["--hangs-up-once"]);
    const { parts } = toolAgent({ tools: http() });
    expect((await parts.tools()).has("echo")).toBe(true);
    await parts.close();
  });

  it("that dies in a call fails it at once", async () => {
    const begun = performance.now();
    const { notes } = await converse({ tools: http(), say: (turn) => (turn === 0 ? callOf("die") : "done") });
    expect(notes[0]!.error).toMatch(/the connection ended without an answer|fetch failed|terminated/);
    // At the latest a call ends after a minute.
    expect(performance.now() - begun).toBeLessThan(50_000);
    await start();
  });
});

it.each([
  ["no file", "/nowhere.json", "cannot be read"],
  ["no map", fileOf("s.json", "{}"), "no map `mcpServers`"],
  ["a server without address", serversFile({ args: [] }), "neither a command nor a url"],
  ["another protocol", serversFile({ url: "file:///etc/passwd" }), "neither a command nor a url"],
])("refuses a servers file with %s", async (_, path, message) => {
  const { parts } = toolAgent({
    tools: `tools:\n  - class_name: mcp\n    config: { mcp: { mcp_servers_config_path: ${path} } }\n`,
  });
  await expect(parts.tools()).rejects.toMatchObject({
    code: "VERL_AGENT_FILE",
    message: expect.stringContaining(message) as unknown,
  });
});
