import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "@jest/globals";
import { CaptureFile } from "../../core/cli/capture-file.ts";
import { createLogger } from "../../core/registry/logger.ts";

const folder = mkdtempSync(join(tmpdir(), "verl-capture-"));
afterAll(() => rmSync(folder, { recursive: true }));

it("keeps what the disk refuses, tells it once, and writes it when it can", () => {
  const lines: string[] = [];
  const path = join(folder, "new", "captured.jsonl");
  const file = new CaptureFile(path, createLogger({ write: (line) => void lines.push(line) }));
  file.open();
  file.add([{ a: 1 }]);
  rmSync(path);
  mkdirSync(path);
  file.add([{ a: 2 }]);
  file.add([]);
  file.add([{ a: 3 }]);
  expect(lines).toEqual([expect.stringContaining(`${path} cannot be written: EISDIR`)]);
  expect(file.written).toBe(1);
  expect(() => file.close()).toThrow(
    expect.objectContaining({ code: "VERL_CLI_WRITE", message: expect.stringContaining("2 trajectories") }),
  );
  rmSync(path, { recursive: true });
  file.add([]);
  file.close();
  expect(readFileSync(path, "utf8")).toBe('{"a":2}\n{"a":3}\n');
  expect(file.written).toBe(3);
  expect(lines[1]).toContain("can be written again");
});
