import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it, jest } from "@jest/globals";

jest.setTimeout(300_000);

const ROOT = join(import.meta.dirname, "../..");

it.each(["thread", "inline"])("examples/dispatch spreads five prompts over two ranks: %s", async (transport) => {
  const args = ["--import", "tsx", "examples/dispatch/main.ts", transport];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT });
  expect(stdout.trim().split("\n")).toEqual([
    "rank 0 of 2 has loaded tiny-llm",
    "rank 1 of 2 has loaded tiny-llm",
    'tiny-llm[0] heard "one"',
    'tiny-llm[0] heard "two"',
    'tiny-llm[0] heard "three"',
    'tiny-llm[1] heard "four"',
    'tiny-llm[1] heard "five"',
  ]);
});

it.each([[["bogus"]], [["thread", "inline"]], [["toString"]]])(
  "examples/dispatch says what it takes: %j",
  async (args) => {
    const command = ["--import", "tsx", "examples/dispatch/main.ts", ...args];
    await expect(promisify(execFile)(process.execPath, command, { cwd: ROOT })).rejects.toMatchObject({
      code: 2,
      stdout: "",
      stderr: "Usage: npx tsx examples/dispatch/main.ts [thread | inline | ray]\n",
    });
  },
);
