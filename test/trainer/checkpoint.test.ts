import { spawnSync } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { NdArray } from "../../core/batch/nd-array.ts";
import { VerlError } from "../../core/errors/index.ts";
import { CheckpointManager } from "../../core/trainer/checkpoint/checkpoint-manager.ts";
import type { CheckpointParts } from "../../core/trainer/checkpoint/checkpoint-parts.ts";

let dir: string;
let log: string[];
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "verl-checkpoint-"));
  log = [];
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const manager = (keep: number | null = null) =>
  new CheckpointManager({
    dir,
    keep,
    logger: { info: (line) => log.push(line), warn: (line) => log.push(`warning: ${line}`) },
  });

const partsOf = (step: number): CheckpointParts => ({
  engines: {
    actor: {
      arrays: new Map<string, NdArray>([
        ["model.embed", new NdArray("float32", [2, 2], Float32Array.of(step, -0, Number.NaN, 1e-42))],
        ["optimizer.step", new NdArray("int64", [1], BigInt64Array.of(2n ** 53n + 1n))],
        ["empty", new NdArray("int32", [0, 3], new Int32Array())],
        // A view into a larger buffer, not aligned with its start.
        ["mask", new NdArray("uint8", [3], Uint8Array.of(9, 1, 2, 3).subarray(1))],
      ]),
      json: { schedule: { warmup: 5, best: -Infinity } },
    },
    critic: { arrays: new Map(), json: {} },
  },
  loader: { epoch: 1, position: step * 2, order: [3, 1, 2] },
  rng: { sampling: [1, 4294967295, 3, 4] },
  plugins: { "my-plugin": { seen: ["a", "b"], best: Number.NaN } },
  extra: { step, zero: -0 },
});

const pointer = () => readFile(join(dir, "latest_checkpointed_iteration.txt"), "utf8");
const stepNames = async () => (await readdir(dir)).filter((name) => name.startsWith("global_step_")).sort();
const flipByte = async (path: string, at: number) => {
  const bytes = await readFile(path);
  bytes[at]! ^= 1;
  await writeFile(path, bytes);
};

describe("CheckpointManager", () => {
  it("gives back every part to the last bit, in verl's layout", async () => {
    const path = await manager().save(7, partsOf(7));
    expect(path).toBe(join(dir, "global_step_7"));
    expect(await pointer()).toBe("7");
    expect((await readdir(path)).sort()).toEqual(
      ["actor", "critic", "extra.json", "loader.json", "manifest.json", "plugins.json", "rng.json"], // prettier-ignore
    );
    const loaded = await manager().load((await manager().latest())!);
    expect(loaded.step).toBe(7);
    expect(loaded.parts).toEqual(partsOf(7));
    expect(log).toEqual([]);
  });

  it("lists the size and the hash of every file in the manifest", async () => {
    const path = await manager().save(1, partsOf(1));
    const manifest = JSON.parse(await readFile(join(path, "manifest.json"), "utf8"));
    expect(manifest).toMatchObject({
      format: 1,
      step: 1,
      engines: ["actor", "critic"],
      verl: expect.stringMatching(/^\d/),
    });
    expect(Object.keys(manifest.files)).toContain("actor/state.safetensors");
    for (const file of Object.values(manifest.files)) {
      expect(file).toEqual({ bytes: expect.any(Number), sha256: expect.stringMatching(/^[0-9a-f]{64}$/) });
    }
  });

  it("refuses a manifest that was edited: its step would number the wrong weights", async () => {
    const path = await manager().save(3, partsOf(3));
    const file = join(path, "manifest.json");
    await writeFile(file, (await readFile(file, "utf8")).replace('"step": 3', '"step": 7'));
    await expect(manager().load(path)).rejects.toMatchObject({
      code: "VERL_CHECKPOINT_CORRUPT",
      message: expect.stringContaining("manifest.json is not as it was written"),
    });
  });

  it("writes a model of other tools' layout inside of the checkpoint, hashed like the rest", async () => {
    const write = async (folder: string) => {
      await mkdir(join(folder, "deep"), { recursive: true });
      await writeFile(join(folder, "model.safetensors"), "weights");
      await writeFile(join(folder, "deep/note"), "");
    };
    const path = await manager().save(1, { ...partsOf(1), models: { actor: write } });
    expect(await readFile(join(path, "actor/huggingface/model.safetensors"), "utf8")).toBe("weights");
    expect((await manager().load(path)).parts).toEqual(partsOf(1));
    await truncate(join(path, "actor/huggingface/model.safetensors"), 3);
    await expect(manager().load(path)).rejects.toMatchObject({
      code: "VERL_CHECKPOINT_CORRUPT",
      message: expect.stringContaining("actor/huggingface/model.safetensors has 3 bytes"),
    });
  });

  it.each(["checkpoint", "trained model"])(
    "tells when the disk refuses a model of a %s, and leaves no half",
    async (what) => {
      await manager().save(1, partsOf(1));
      const refused = async (folder: string) => {
        await mkdir(folder);
        await writeFile(join(folder, "config.json"), "{}");
        const cause = Object.assign(new Error("ENOSPC: no space left on device, write"), {
          code: "ENOSPC",
          syscall: "write",
        });
        throw new VerlError("VERL_WORKER_FAILED", "Rank 0 failed.", { cause });
      };
      const writing =
        what === "checkpoint"
          ? manager().save(2, { ...partsOf(2), models: { actor: refused } })
          : manager().saveModel(refused);
      await expect(writing).rejects.toMatchObject({
        code: "VERL_CHECKPOINT_WRITE",
        message: expect.stringMatching(new RegExp(`The ${what}.* could not be written .*: the disk is full`)),
        hint: expect.stringContaining("global_step_1"),
      });
      expect((await readdir(dir)).sort()).toEqual(["global_step_1", "latest_checkpointed_iteration.txt"]);
    },
  );

  it("replaces the trained model whole", async () => {
    const write = (name: string) => async (folder: string) => {
      await mkdir(folder);
      await writeFile(join(folder, name), "");
    };
    await manager().saveModel(write("old"));
    await manager().saveModel(write("new"));
    expect(await readdir(dir)).toEqual(["huggingface"]);
    expect(await readdir(join(dir, "huggingface"))).toEqual(["new"]);
  });

  it("is not found before it is published", async () => {
    const publish = await manager().prepare(1, partsOf(1));
    expect(await stepNames()).toEqual([]);
    await publish();
    expect(await manager().latest()).toBe(join(dir, "global_step_1"));
  });

  it("keeps the newest, those of earlier processes included", async () => {
    for (const step of [2, 4, 6]) await manager().save(step, partsOf(step));
    await manager(2).save(8, partsOf(8));
    expect(await stepNames()).toEqual(["global_step_6", "global_step_8"]);
  });

  it("keeps the checkpoint just saved when later steps of an abandoned run lie beside it", async () => {
    for (const step of [2, 4, 6]) await manager().save(step, partsOf(step));
    await manager(1).save(3, partsOf(3));
    expect(await stepNames()).toEqual(["global_step_3"]);
    expect(await manager().latest()).toBe(join(dir, "global_step_3"));
  });

  it("replaces a checkpoint of the same step", async () => {
    await manager().save(2, partsOf(2));
    const path = await manager().save(2, { ...partsOf(2), extra: "new" });
    expect((await manager().load(path)).parts.extra).toBe("new");
    expect(await readdir(dir)).toHaveLength(2);
  });

  it("starts afresh where nothing was saved", async () => {
    expect(await manager().latest()).toBeUndefined();
    expect(await manager().resolveResume("disable", null)).toBeUndefined();
    expect(await manager().list()).toEqual([]);
    expect(log).toEqual([]);
  });

  it("follows a pointer that the user moved back, and says that newer ones exist", async () => {
    for (const step of [1, 2]) await manager().save(step, partsOf(step));
    await writeFile(join(dir, "latest_checkpointed_iteration.txt"), "1\n");
    expect(await manager().latest()).toBe(join(dir, "global_step_1"));
    expect(log).toEqual([expect.stringMatching(/^warning: .*global_step_2 is newer/)]);
  });

  it("resumes from a named path under both spellings of the mode, and refuses one that is not there", async () => {
    const path = await manager().save(1, partsOf(1));
    await manager().save(2, partsOf(2));
    expect(await manager().resolveResume("path", path)).toBe(path);
    expect(await manager().resolveResume("resume_path", path)).toBe(path);
    await expect(manager().resolveResume("resume_path", join(dir, "global_step_3"))).rejects.toMatchObject({
      code: "VERL_CHECKPOINT_MISSING",
      hint: "Complete there: global_step_2, global_step_1.",
    });
    await expect(manager().resolveResume("resume_path", null)).rejects.toMatchObject({
      code: "VERL_CHECKPOINT_MISSING",
    });
  });

  it("refuses a state that JSON would change in silence, names it, and leaves nothing behind", async () => {
    const parts = { ...partsOf(1), plugins: { mine: { table: [{ seen: new Map() }] } } };
    await expect(manager().save(1, parts)).rejects.toMatchObject({
      code: "VERL_CHECKPOINT_STATE",
      message: expect.stringContaining("plugins.mine.table[0].seen is a Map"),
    });
    expect(await readdir(dir)).toEqual([]);
  });
});

describe("a damaged checkpoint", () => {
  it("is refused by its hash, with the file and the previous good one named", async () => {
    for (const step of [1, 2, 3]) await manager().save(step, partsOf(step));
    await flipByte(join(dir, "global_step_3", "actor", "state.safetensors"), 40);
    await flipByte(join(dir, "global_step_2", "rng.json"), 3);
    const latest = (await manager().latest())!;
    expect(latest).toBe(join(dir, "global_step_3"));
    await expect(manager().load(latest)).rejects.toMatchObject({
      code: "VERL_CHECKPOINT_CORRUPT",
      message: expect.stringContaining("actor/state.safetensors has the hash"),
      hint: expect.stringContaining(`trainer.resume_from_path=${join(dir, "global_step_1")}`),
    });
  });

  it.each([
    ["a file cut short", (path: string) => truncate(join(path, "loader.json"), 4), /loader\.json has 4 bytes, not \d+/],
    ["a file deleted", (path: string) => rm(join(path, "critic/state.json")), /critic\/state\.json is missing/],
  ])("is refused: %s", async (_, harm, message) => {
    const path = await manager().save(1, partsOf(1));
    await harm(path);
    await expect(manager().load(path)).rejects.toMatchObject({
      code: "VERL_CHECKPOINT_CORRUPT",
      message: expect.stringMatching(message),
    });
  });

  it("is refused when a newer version wrote it, or its manifest points outside", async () => {
    const path = await manager().save(1, partsOf(1));
    const file = join(path, "manifest.json");
    const manifest = JSON.parse(await readFile(file, "utf8"));
    await writeFile(file, JSON.stringify({ ...manifest, format: 2 }));
    await expect(manager().load(path)).rejects.toMatchObject({ code: "VERL_CHECKPOINT_FORMAT" });
    await writeFile(file, JSON.stringify({ ...manifest, files: { "../../etc/passwd": manifest.files["rng.json"] } }));
    await expect(manager().load(path)).rejects.toMatchObject({ code: "VERL_CHECKPOINT_CORRUPT" });
  });

  describe.each<[string, (manifest: string) => Promise<void>]>([
    ["cut short", (manifest) => truncate(manifest, 120)],
    ["empty", (manifest) => truncate(manifest, 0)],
    ["zeros", (manifest) => writeFile(manifest, Buffer.alloc(512))],
    ["JSON of something else", (manifest) => writeFile(manifest, '{"step": 2}')],
  ])("whose manifest is %s", (_, harm) => {
    const corrupt = {
      code: "VERL_CHECKPOINT_CORRUPT",
      message: expect.stringMatching(/checkpoint of step 2 .*global_step_2.* is corrupt: manifest\.json /),
      hint: expect.stringContaining("trainer.resume_mode=resume_path trainer.resume_from_path="),
    };

    beforeEach(async () => {
      for (const step of [1, 2]) await manager().save(step, partsOf(step));
      await harm(join(dir, "global_step_2", "manifest.json"));
    });

    it("is refused where the pointer names it, and the previous good one offered", async () => {
      const latest = (await manager().resolveResume("auto", null))!;
      await expect(manager().load(latest)).rejects.toMatchObject(corrupt);
      await expect(manager().load(latest)).rejects.toMatchObject({
        hint: expect.stringContaining(`=${join(dir, "global_step_1")}`),
      });
      expect(log).toEqual([]);
    });

    it("is refused where the pointer is lost, and where it is named", async () => {
      await rm(join(dir, "latest_checkpointed_iteration.txt"));
      await expect(manager().load((await manager().latest())!)).rejects.toMatchObject(corrupt);
      const named = (await manager().resolveResume("resume_path", join(dir, "global_step_2")))!;
      await expect(manager().load(named)).rejects.toMatchObject(corrupt);
    });

    it("is passed over where the pointer names another, and never offered", async () => {
      await manager().save(3, partsOf(3));
      expect((await manager().load((await manager().latest())!)).step).toBe(3);
      await truncate(join(dir, "global_step_3", "rng.json"), 1);
      await expect(manager().load(join(dir, "global_step_3"))).rejects.toMatchObject({
        hint: expect.stringContaining(`=${join(dir, "global_step_1")}`),
      });
      expect((await manager().list()).map(({ step }) => step)).toEqual([1, 3]);
    });
  });
});

describe("an interrupted save", () => {
  it("[case 93] leaves the complete one to resume from, is an error when asked for, and can be saved again", async () => {
    await manager().save(1, partsOf(1));
    await cp(join(dir, "global_step_1", "actor"), join(dir, "global_step_2", "actor"), { recursive: true });
    await writeFile(join(dir, "latest_checkpointed_iteration.txt"), "2");
    expect(await manager().resolveResume("auto", null)).toBe(join(dir, "global_step_1"));
    expect(log).toEqual([expect.stringMatching(/^warning: .*names step 2, whose checkpoint was never completed/)]);
    await expect(manager().resolveResume("resume_path", join(dir, "global_step_2"))).rejects.toMatchObject({
      code: "VERL_CHECKPOINT_MISSING",
      message: expect.stringContaining("holds no complete checkpoint"),
    });
    await manager().save(2, partsOf(2));
    expect((await manager().load((await manager().latest())!)).parts).toEqual(partsOf(2));
  });

  it("is cleared at the next start, but not while its process lives", async () => {
    await manager().save(1, partsOf(1));
    const dead = spawnSync(process.execPath, ["-e", ""]).pid;
    await mkdir(join(dir, `.saving-${dead}-00000000-global_step_2`));
    await mkdir(join(dir, `.saving-${process.ppid}-00000000-global_step_3`));
    await manager().latest();
    expect((await readdir(dir)).filter((name) => name.startsWith("."))).toEqual([
      `.saving-${process.ppid}-00000000-global_step_3`,
    ]);
  });

  it("puts back the checkpoint that was making room when the kill came", async () => {
    const path = await manager().save(1, partsOf(1));
    const dead = spawnSync(process.execPath, ["-e", ""]).pid;
    await cp(path, join(dir, `.replaced-${dead}-00000000-global_step_1`), { recursive: true });
    await rm(path, { recursive: true });
    expect(await manager().latest()).toBe(path);
  });

  it("by a size limit of the system tells so, removes its files and leaves the previous checkpoint intact", async () => {
    await manager().save(1, partsOf(1));
    const child = fileURLToPath(new URL("fixtures/save-large.ts", import.meta.url));
    // 64 blocks of 1 KiB a file at most; the fixture writes 1 MiB.
    const { stdout, stderr } = spawnSync(
      "bash",
      ["-c", 'ulimit -f 64; exec "$0" --import tsx "$1" "$2"', process.execPath, child, dir],
      { encoding: "utf8" },
    );
    expect({ stdout: stdout.slice(0, 1), stderr }).toEqual({ stdout: "{", stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject({
      code: "VERL_CHECKPOINT_WRITE",
      message: expect.stringContaining("step 2 could not be written"),
      hint: expect.stringContaining(`The previous checkpoint is intact: ${join(dir, "global_step_1")}`),
    });
    expect((await readdir(dir)).sort()).toEqual(["global_step_1", "latest_checkpointed_iteration.txt"]);
    expect((await manager().load((await manager().latest())!)).parts).toEqual(partsOf(1));
  });

  it("where the directory cannot be made tells why", async () => {
    await writeFile(join(dir, "file"), "");
    const blocked = new CheckpointManager({
      dir: join(dir, "file", "run"),
      keep: null,
      logger: { info: () => {}, warn: () => {} },
    });
    await expect(blocked.save(1, partsOf(1))).rejects.toMatchObject({
      code: "VERL_CHECKPOINT_WRITE",
      message: expect.stringContaining("a part of the path is not a directory"),
    });
  });
});
