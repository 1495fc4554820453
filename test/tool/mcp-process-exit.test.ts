import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "@jest/globals";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { endingWithThis } from "../../plugins/tool/mcp/ending-with-this.ts";

const SERVER = join(import.meta.dirname, "../trainer/fixtures/stubborn-server.mjs");

it("a process that ends before it has closed its MCP servers takes them with it, and looks after none that has ended", async () => {
  const file = join(mkdtempSync(join(tmpdir(), "verl-mcp-")), "servers");
  const before = process.listeners("exit");
  const Transport = endingWithThis(StdioClientTransport);
  const transport = new Transport({ command: process.execPath, args: [SERVER, file], stderr: "ignore" });
  await transport.start();
  const closed = once(transport["_process" as never], "close");
  const added = process.listeners("exit").filter((listener) => !before.includes(listener));
  expect(added).toHaveLength(1);
  added[0]!.call(process, 0);
  expect(await closed).toEqual([null, "SIGKILL"]);
  expect(process.listeners("exit")).toEqual(before);
});
