import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { DataProto } from "../../core/batch/data-proto.ts";
import { NdArray } from "../../core/batch/nd-array.ts";
import { JsonLinesFile } from "../../core/trainer/rollout-log/json-lines.ts";
import { RolloutLog } from "../../core/trainer/rollout-log/rollout-log.ts";
import { pickGroups, pickValidation } from "../../core/trainer/rollout-log/rollout-rows.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "verl-rollouts-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const LETTERS = ["<pad>", "<end>", "a", "b", "c"];
const tokenizer = {
  decode: (ids: ArrayLike<number>, { skipSpecialTokens = false }: { skipSpecialTokens?: boolean } = {}) =>
    Array.from(ids, (id) => (skipSpecialTokens && id < 2 ? "" : LETTERS[id]!)).join(""),
};
const ints = (rows: number[][]) => new NdArray("int32", [rows.length, rows[0]!.length], Int32Array.from(rows.flat()));
const floats = (rows: number[][]) =>
  new NdArray("float32", [rows.length, rows[0]!.length], Float32Array.from(rows.flat()));

/** Two prompts, two answers each. */
const batch = new DataProto({
  batch: {
    prompts: ints([[0, 2, 3], [0, 2, 3], [2, 3, 4], [2, 3, 4]]), // prettier-ignore
    responses: ints([[3, 2, 1], [2, 1, 0], [4, 3, 2], [0, 0, 0]]), // prettier-ignore
    attention_mask: ints([[0, 1, 1, 1, 1, 1], [0, 1, 1, 1, 1, 0], [1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0]]), // prettier-ignore
    response_mask: ints([[1, 0, 1], [1, 1, 0], [1, 1, 1], [0, 0, 0]]), // prettier-ignore
    token_level_scores: floats([[0, 0, 1], [0, 0.25, 0], [0, 0, 0.1], [0, 0, 0]]), // prettier-ignore
    unscored: new NdArray("uint8", [4], Uint8Array.of(0, 0, 0, 1)),
    rollout_log_probs: floats([[-0.1, -0.2, -0.3], [-1, -2, 0], [-1, -2, -3], [0, 0, 0]]), // prettier-ignore
    advantages: floats([[0.7, 0, 0.7], [-0.7, -0.7, 0], [0.5, 0.5, 0.5], [0, 0, 0]]), // prettier-ignore
  },
  nonTensorBatch: {
    uid: ["u1", "u1", "u2", "u2"],
    data_source: ["sort", "sort", "sort", "sort"],
    reward_model: [1, 2, 3, 4].map((n) => ({ style: "rule", ground_truth: { n } })),
  },
});

const linesOf = async (path: string) =>
  (await readFile(path, "utf8"))
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

describe("RolloutLog", () => {
  it("keeps text, ids, masks, log-probs, reward parts and advantages of a row", async () => {
    const log = new RolloutLog({ runDir: dir, tokenizer });
    await log.train(batch, 3, { length_bonus: [0.5, null, 1, "late"] });
    const rows = await linesOf(join(dir, "rollouts.jsonl"));
    expect(rows).toHaveLength(4);
    expect(rows[0]).toEqual({
      step: 3,
      split: "train",
      uid: "u1",
      extra_info: {},
      data_source: "sort",
      input: "ab",
      output: "ba",
      gts: { n: 1 },
      score: 1,
      reward: { length_bonus: 0.5 },
      prompt_ids: [2, 3],
      response_ids: [3, 2, 1],
      tokens: ["b", "a", "<end>"],
      mask: [1, 0, 1],
      rollout_log_probs: [-0.1, -0.2, -0.3],
      advantages: [0.7, 0, 0.7],
    });
    expect(rows[1]).toMatchObject({
      output: "a",
      tokens: ["a", "<end>"],
      mask: [1, 1],
      reward: { length_bonus: null },
    });
  });

  it("says null for an unscored row, and copes with an empty response", async () => {
    const log = new RolloutLog({ runDir: dir, tokenizer });
    await log.train(batch, 1);
    expect((await linesOf(join(dir, "rollouts.jsonl")))[3]).toMatchObject({
      score: null,
      output: "",
      tokens: [],
      mask: [],
    });
  });

  it("caps rollouts.jsonl and writes every row to verl's directories, anew when a step is done again", async () => {
    const [rolloutDataDir, validationDataDir] = [join(dir, "train"), join(dir, "val")];
    const log = new RolloutLog({ runDir: dir, tokenizer, rolloutDataDir, validationDataDir, perStep: 2 });
    await log.train(batch, 1);
    await log.train(batch, 1);
    await log.validation(batch, 2);
    expect((await linesOf(join(dir, "rollouts.jsonl"))).map(({ step, split }) => [step, split])).toEqual(
      [[1, "train"], [1, "train"], [1, "train"], [1, "train"], [2, "val"], [2, "val"]], // prettier-ignore
    );
    const dumped = await linesOf(join(rolloutDataDir, "1.jsonl"));
    expect(dumped.map(({ input, output, gts, score, step }) => ({ input, output, gts, score, step }))).toEqual([
      { input: "ab", output: "ba", gts: { n: 1 }, score: 1, step: 1 },
      { input: "ab", output: "a", gts: { n: 2 }, score: 0.25, step: 1 },
      { input: "abc", output: "cba", gts: { n: 3 }, score: 0.1, step: 1 },
      { input: "abc", output: "", gts: { n: 4 }, score: null, step: 1 },
    ]);
    expect(await linesOf(join(validationDataDir, "2.jsonl"))).toHaveLength(4);
  });

  it("leaves padding rows out", async () => {
    const log = new RolloutLog({ runDir: dir, tokenizer });
    await log.train(batch.padToDivisor(6), 1);
    expect(await linesOf(join(dir, "rollouts.jsonl"))).toHaveLength(4);
  });
});

describe("the rows that are kept", () => {
  it("are whole groups in batch order, however the rows were shuffled", () => {
    expect(pickGroups(batch.reorder([2, 0, 3, 1]), 3)).toEqual([0, 2]);
    expect(pickGroups(batch, 1)).toEqual([0]);
    expect(pickGroups(batch, 4)).toEqual([0, 1, 2, 3]);
  });

  it("are the same prompts at each validation, in whatever order they come", () => {
    const shuffled = batch.reorder([3, 1, 0, 2]);
    const inputs = (of: DataProto) => pickValidation(of, 2, tokenizer).map((row) => of.column("uid")[row] as string);
    expect(inputs(shuffled)).toEqual(inputs(batch));
    // RandomState(42).shuffle of four rows begins with those that stood at 1 and 3.
    expect(pickValidation(batch, 2, tokenizer)).toEqual([1, 3]);
  });
});

describe("JsonLinesFile", () => {
  it("closes off a half line that a kill left, and goes on", async () => {
    const path = join(dir, "deep", "x.jsonl");
    new JsonLinesFile(path).append([{ a: 1 }]);
    await writeFile(path, '{"a":1}\n{"a":', { flag: "w" });
    const file = new JsonLinesFile(path);
    file.append([{ a: Number.NaN }]);
    file.append([]);
    file.append([{ a: 3 }]);
    expect(await readFile(path, "utf8")).toBe('{"a":1}\n{"a":\n{"a":null}\n{"a":3}\n');
  });

  it("tells as the user's disk, not as a fault of ours, where it cannot write", () => {
    expect(() => new JsonLinesFile(dir).append([{ a: 1 }])).toThrow(
      expect.objectContaining({
        code: "VERL_TRAIN_DIRECTORY",
        message: expect.stringContaining(`${dir} cannot be written: EISDIR`),
      }),
    );
  });

  it("writes all of its lines or none, where the disk has room for a part", async () => {
    const path = join(dir, "x.jsonl");
    const url = new URL("../../core/trainer/rollout-log/json-lines.ts", import.meta.url).href;
    const script = `
      const { JsonLinesFile } = await import(${JSON.stringify(url)});
      const file = new JsonLinesFile(${JSON.stringify(path)});
      file.append([{ a: 1 }]);
      try { file.append([{ a: 2 }, { a: "x".repeat(2000) }]); } catch ({ message }) { console.log(message); }
      file.append([{ a: 3 }]);`;
    // Files of 1 KiB at most.
    const limited = ["-c", 'trap "" XFSZ; ulimit -f 1; exec "$@"', "bash", process.execPath];
    const node = ["--import", "tsx", "--input-type=module", "--eval", script];
    const env = { ...process.env, TSX_DISABLE_CACHE: "1" };
    const { stdout, stderr } = spawnSync("bash", [...limited, ...node], { encoding: "utf8", env });
    expect({ stdout, stderr }).toEqual({ stdout: expect.stringContaining("EFBIG"), stderr: "" });
    expect(await readFile(path, "utf8")).toBe('{"a":1}\n{"a":3}\n');
  });
});
