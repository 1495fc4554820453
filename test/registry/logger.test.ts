import { expect, it, jest } from "@jest/globals";
import { createLogger } from "../../core/registry/index.ts";

it("writes lines from its level on, with fields as JSON", () => {
  const lines: string[] = [];
  const log = createLogger({ write: (line) => lines.push(line) });
  log.debug("hidden");
  log.info("step", { step: 3 });
  log.warn("careful");
  expect(lines).toEqual(['step {"step":3}', "warning: careful"]);
});

it("warns once a code, each logger for itself", () => {
  const lines: string[] = [];
  const [one, two] = [0, 1].map(() => createLogger({ write: (line) => lines.push(line) }));
  one!.warnOnce("VERL_A", "first");
  one!.warnOnce("VERL_A", "again");
  one!.warnOnce("VERL_B", "other");
  two!.warnOnce("VERL_A", "first");
  expect(lines).toEqual(["warning: first", "warning: other", "warning: first"]);
});

it("writes to stderr by default, and nothing when silent", () => {
  const written = jest.spyOn(process.stderr, "write").mockReturnValue(true);
  createLogger().info("shown");
  createLogger({ level: "silent" }).warn("hidden");
  expect(written.mock.calls).toEqual([["shown\n"]]);
  written.mockRestore();
});
