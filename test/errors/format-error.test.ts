import { describe, expect, it } from "@jest/globals";
import { exitCodeOf, formatError, formatLocation, isVerlError, VerlError } from "../../core/errors/index.ts";

describe("formatError", () => {
  it("shows code, place, message and hint of a mistake in the config, and no stack", () => {
    const error = new VerlError("VERL_REGISTRY_KEY_UNKNOWN", 'No policy loss is registered as "vanila".', {
      hint: 'Did you mean "vanilla"?',
      location: { file: "run.yaml", line: 12, column: 18, path: "actor.loss_mode" },
      cause: new Error("not shown"),
    });
    expect(formatError(error)).toBe(
      [
        "VERL_REGISTRY_KEY_UNKNOWN  run.yaml:12:18  actor.loss_mode",
        'No policy loss is registered as "vanila".',
        'Did you mean "vanilla"?',
      ].join("\n"),
    );
  });

  it("shows the cause's stack for a plugin's fault, the whole chain of causes", () => {
    const cause = new TypeError("inner", { cause: new RangeError("innermost") });
    const text = formatError(new VerlError("VERL_PLUGIN_IMPORT", "It threw.", { location: { plugin: "x@1" }, cause }));
    expect(text).toMatch(/^VERL_PLUGIN_IMPORT {2}x@1\nIt threw\.\nCaused by: TypeError: inner\n {4}at /);
    expect(text).toContain("Caused by: RangeError: innermost");
  });

  it("shows no stack of a cause that a code names, for it lies in none of its frames", () => {
    const cause = new VerlError("VERL_AGENT_TOOL", "No such tool.", { cause: new TypeError("inner") });
    const lines = formatError(new VerlError("VERL_AGENT_LOOP_FAILED", "It failed.", { cause })).split("\n");
    expect(lines.slice(0, 4)).toEqual([
      "VERL_AGENT_LOOP_FAILED",
      "It failed.",
      "Caused by: VERL_AGENT_TOOL: No such tool.",
      "Caused by: TypeError: inner",
    ]);
    expect(lines[4]).toMatch(/^ {4}at /);
  });

  it("says which rank an error comes from that does not say so itself, in causes too", () => {
    const details = { group: "actor", rank: 1, method: "updateActor", place: "thread 7" };
    const cause = new VerlError("VERL_BATCH_SHAPE", "Odd shapes.", { details: { ...details, rank: 0 } });
    const error = new VerlError("VERL_ENTRY_FAILED", "It broke.", { hint: "Mend it.", details, cause });
    expect(formatError(error).split("\n")).toEqual([
      "VERL_ENTRY_FAILED",
      "It broke.",
      "On rank 1 of actor, in updateActor.",
      "Mend it.",
      "Caused by: VERL_BATCH_SHAPE: Odd shapes.",
      "On rank 0 of actor, in updateActor.",
    ]);
  });

  it.each([
    ["Rank 1 of actor failed in updateActor: x", { group: "actor", rank: 1, method: "updateActor" }],
    ["It broke.", { rank: 1, method: "updateActor" }],
    ["It broke.", { group: "actor", rank: [1], method: "updateActor" }],
    ["It broke.", { group: "actor", method: "updateActor" }],
  ])("names no rank twice, and none that is not known: %s %j", (message, details) => {
    expect(formatError(new VerlError("VERL_ENTRY_FAILED", message, { details }))).toBe(`VERL_ENTRY_FAILED\n${message}`);
  });

  it("shows what a rank was ended by, and no frames of those that only hear of it", () => {
    const died = (cause?: Error) => formatError(new VerlError("VERL_WORKER_DIED", "Rank 0 was ended.", { cause }));
    expect(died()).toBe("VERL_WORKER_DIED\nRank 0 was ended.");
    expect(died(new RangeError("inner"))).toMatch(
      /^VERL_WORKER_DIED\nRank 0 was ended\.\nCaused by: RangeError: inner\n {4}at .*format-error\.test/,
    );
  });

  it("shows the whole stack of our own fault", () => {
    expect(formatError(new VerlError("VERL_INTERNAL", "It broke."))).toMatch(/^VERL_INTERNAL\nIt broke\.\n {4}at /);
  });

  it.each<[unknown, RegExp]>([
    [new TypeError("x is not a function"), /^Unexpected error\nTypeError: x is not a function\n {4}at /],
    ["a string", /^Unexpected error\na string$/],
    [{ reason: "odd" }, /^Unexpected error\n\{ reason: 'odd' \}$/],
    [undefined, /^Unexpected error\nundefined$/],
  ])("shows anything else that was thrown: %p", (thrown, expected) => expect(formatError(thrown)).toMatch(expected));

  it("ends where causes go in a circle", () => {
    const error = new Error("a");
    error.cause = new Error("b", { cause: error });
    expect(formatError(error).match(/Caused by/g)).toHaveLength(1);
  });

  it("colours on request alone", () => {
    const error = new VerlError("VERL_KIND_UNKNOWN", "No.", { hint: "Yes." });
    expect(formatError(error, { color: true })).toBe(
      "\u001b[31mVERL_KIND_UNKNOWN\u001b[0m\nNo.\n\u001b[36mYes.\u001b[0m",
    );
  });
});

it.each([
  [{}, ""],
  [{ file: "a.yaml" }, "a.yaml"],
  [{ file: "a.yaml", line: 3 }, "a.yaml:3"],
  [{ override: "a.b=1" }, "a.b=1"],
  [{ file: "a.yaml", line: 3, column: 1, plugin: "verl-plugin-x@1.0.0" }, "a.yaml:3:1"],
  [{ plugin: "verl-plugin-x@1.0.0", path: "a.b" }, "verl-plugin-x@1.0.0"],
])("formatLocation(%j) is %j", (location, text) => expect(formatLocation(location)).toBe(text));

it.each([
  ["the user's mistake", new VerlError("VERL_KIND_UNKNOWN", "x"), 2],
  ["a plugin that does not load", new VerlError("VERL_PLUGIN_IMPORT", "x"), 2],
  ["a plugin's fault in a run", new VerlError("VERL_ENTRY_FAILED", "x"), 1],
  ["a full disk", new VerlError("VERL_CHECKPOINT_WRITE", "x"), 1],
  ["our own fault", new VerlError("VERL_INTERNAL", "x"), 1],
  ["any other error", new Error("x"), 1],
  ["no error at all", "x", 1],
])("%s ends a command with its exit code", (_, error, code) => expect(exitCodeOf(error)).toBe(code));

describe("VerlError", () => {
  it("is told apart by its brand, whichever copy of the package made it", () => {
    const foreign = Object.assign(new Error("x"), { code: "VERL_INTERNAL", [Symbol.for("verl.error")]: true });
    expect(isVerlError(foreign)).toBe(true);
    expect(isVerlError(new VerlError("VERL_INTERNAL", "x"))).toBe(true);
    for (const other of [new Error("x"), null, undefined, "x", {}]) expect(isVerlError(other)).toBe(false);
  });

  it("becomes JSON without stack and cause", () => {
    const error = new VerlError("VERL_INTERNAL", "x", { hint: "y", details: { a: 1 }, cause: new Error("z") });
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      code: "VERL_INTERNAL",
      message: "x",
      hint: "y",
      details: { a: 1 },
    });
  });
});
