import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { cli } from "../cli/helpers.ts";

const cwd = mkdtempSync(join(tmpdir(), "verl-parser-"));
beforeAll(() => {
  writeFileSync(
    join(cwd, "answer.txt"),
    'Hm.<tool_call>{"name": "f", "arguments": {"id": "9007199254740993"}}</tool_call><tool_call>{x</tool_call>\n',
  );
  writeFileSync(
    join(cwd, "tools.json"),
    '[{"type": "function", "function": {"name": "f", "parameters": {"properties": {"id": {"type": "integer"}}}}}]',
  );
  writeFileSync(join(cwd, "broken.json"), '{"name": "f"}');
  writeFileSync(
    join(cwd, "hasty.ts"),
    `import { ToolParser } from "verl";
     const nothing = { content: "", reasoning: "", calls: [], errors: [] };
     @ToolParser.register("hasty", { description: "Sees the first piece only." })
     export class Hasty extends ToolParser {
       stream() {
         let first: string | undefined;
         return { push: (piece: string) => void (first ??= piece), end: () => ({ ...nothing, content: first ?? "" }) };
       }
     }`,
  );
});
afterAll(() => rmSync(cwd, { recursive: true }));

describe("verl parser try", () => {
  it("shows content, calls, errors, and that pieces give the same", async () => {
    const { code, stdout } = await cli(["parser", "try", "answer.txt", "--format", "hermes", "--tools", "tools.json"], {
      cwd,
    });
    expect(code).toBe(0);
    expect(stdout).toContain('content    "Hm."');
    expect(stdout).toContain('f  {"id":9007199254740993}');
    expect(stdout).toContain("error: the call is not valid JSON");
    expect(stdout).toMatch(/in pieces {2}the same, cut at \d+ places/);
  });

  it("leaves out the line break that ends a file, that of Windows too", async () => {
    writeFileSync(join(cwd, "breaks.txt"), "Hm.\r\n\r\n");
    const { stdout } = await cli(["parser", "try", "breaks.txt", "--format", "hermes", "--json"], { cwd });
    expect(JSON.parse(stdout)).toMatchObject({ content: "Hm.\r\n" });
  });

  it("prints JSON, and executes nothing of an answer that was cut off", async () => {
    const { stdout } = await cli(
      ["parser", "try", "answer.txt", "--format", "hermes", "--finish-reason", "length", "--json"],
      { cwd },
    );
    expect(JSON.parse(stdout)).toMatchObject({ content: "Hm.", calls: [], errors: [{}, {}] });
  });

  it.each([
    ["a format that is not there", ["answer.txt", "--format", "hermse"], "VERL_REGISTRY_KEY_UNKNOWN  --format\n"],
    ["the format of a model that is not named", ["answer.txt", "--format", "auto"], "--model <folder>"],
    ["an answer that is not there", ["nowhere.txt", "--format", "hermes"], "VERL_CLI_FILE"],
    [
      "a file of tools that holds none",
      ["answer.txt", "--format", "hermes", "--tools", "broken.json"],
      "VERL_CLI_FILE",
    ],
    [
      "a parser that pieces confuse",
      ["answer.txt", "--format", "hasty", "--plugin", "./hasty.ts"],
      "VERL_AGENT_TOOL_PARSER",
    ],
  ])("refuses %s", async (_what, args, error) => {
    const { code, stderr } = await cli(["parser", "try", ...args], { cwd });
    expect(code).not.toBe(0);
    expect(stderr).toContain(error);
  });
});
