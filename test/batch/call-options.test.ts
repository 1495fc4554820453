import { describe, expect, it } from "@jest/globals";
import { DataProto } from "../../core/batch/data-proto.ts";
import { failure } from "../registry/helpers.ts";

const batch = () => DataProto.fromSingleDict({ ids: Int32Array.of(1, 2, 3, 4), uid: ["a", "b", "c", "d"] });
/** As JavaScript sees a batch, without types. */
type Untyped = Record<string, (...args: unknown[]) => unknown>;

describe("an argument that a batch's method would not read", () => {
  it.each<[string, (data: Untyped) => unknown, message: string, hint: string]>([
    ["a list of keys", (data) => data.select!(["ids"]), "select() was called with a list", "select({ batchKeys, "],
    ["one key", (data) => data.select!("ids"), 'select() was called with the text "ids"', "select({ batchKeys, "],
    ["no keys", (data) => data.select!(), "select() was called with undefined", "select({ batchKeys, "],
    [
      "verl's spelling",
      (data) => data.select!({ batch_keys: ["ids"] }),
      'no option "batch_keys"',
      'Did you mean "batchKeys"?',
    ],
    [
      "a key in place of a list",
      (data) => data.select!({ batchKeys: "ids" }),
      "`batchKeys` of select() is the text",
      "batchKeys: [",
    ],
    ["a list to take out", (data) => data.pop!(["ids"]), "pop() was called with a list", "pop({ batchKeys, "],
    ["a flag", (data) => data.repeat!(2, false), "repeat() was called with false", "repeat({ interleave })"],
    ["a flag", (data) => data.chunk!(2, true), "chunk() was called with true", "chunk({ equal })"],
    ["a flag", (data) => data.split!(2, true), "split() was called with true", "split({ equal })"],
    [
      "a number",
      (data) => [...(data.makeIterator!(2, 3) as Iterable<unknown>)],
      "makeIterator() was called with 3",
      "epochs",
    ],
    [
      "a misspelt option",
      (data) => data.toArrow!({ inot: 1 }),
      'toArrow() has no option "inot"',
      'Did you mean "into"?',
    ],
    [
      "another policy",
      (data) => data.union!(batch(), "overwrite"),
      'conflict policy of union() is the text "overwrite"',
      '"replace"',
    ],
  ])("is refused: %s", async (_, call, message, hint) => {
    const data = batch();
    const error = await failure(() => call(data as unknown as Untyped));
    expect(error.code).toBe("VERL_BATCH_ARGUMENT");
    expect(error.message).toContain(message);
    expect(error.hint).toContain(hint);
    expect(data.equals(batch())).toBe(true);
  });

  it("is refused by the functions of the class too", async () => {
    const make = DataProto as unknown as Untyped & (new (parts: object) => DataProto);
    expect((await failure(() => new make({ ids: Int32Array.of(1) }))).message).toContain(
      'new DataProto() has no option "ids"',
    );
    expect((await failure(() => make.concat!([batch(), batch()], "keep"))).message).toContain(
      "concat() was called with the text",
    );
  });
});
