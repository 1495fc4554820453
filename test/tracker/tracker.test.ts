import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { CONFIG, createLogger, createRunContainer, registries, Trackers, type Tracker } from "../../core/index.ts";
import { consoleLine, ConsoleTracker } from "../../plugins/tracker/console.ts";
import { FileTracker } from "../../plugins/tracker/file.ts";
import { trackers } from "../../plugins/tracker/index.ts";
import { crc32c } from "../../plugins/tracker/tensorboard-events.ts";
import { TensorBoardTracker } from "../../plugins/tracker/tensorboard.ts";

let dir: string;
const ENV = ["VERL_FILE_LOGGER_PATH", "VERL_FILE_LOGGER_ROOT", "TENSORBOARD_DIR"];
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "verl-tracker-"));
  for (const name of ENV) delete process.env[name];
});
afterEach(async () => {
  for (const name of ENV) delete process.env[name];
  await rm(dir, { recursive: true, force: true });
});

const config = () => ({ trainer: { project_name: "p", experiment_name: "e", default_local_dir: join(dir, "run") } });
const linesOf = async (path: string) => (await readFile(path, "utf8")).trimEnd().split("\n");

describe("file", () => {
  it("writes verl's lines to the run's directory, and goes on after a restart", async () => {
    new FileTracker(config()).log({ "a/b": 0.5, "a/c": Number.NaN }, 1);
    new FileTracker(config()).log({ "a/b": 1 }, 2);
    expect(await linesOf(join(dir, "run", "metrics.jsonl"))).toEqual([
      '{"step":1,"data":{"a/b":0.5,"a/c":null}}',
      '{"step":2,"data":{"a/b":1}}',
    ]);
  });

  it("writes to verl's places as well when its environment variables are set", async () => {
    process.env["VERL_FILE_LOGGER_ROOT"] = join(dir, "root");
    new FileTracker(config()).log({ x: 1 }, 1);
    process.env["VERL_FILE_LOGGER_PATH"] = join(dir, "own.jsonl");
    new FileTracker(config()).log({ x: 2 }, 2);
    expect(await linesOf(join(dir, "root", "p", "e.jsonl"))).toEqual(['{"step":1,"data":{"x":1}}']);
    expect(await linesOf(join(dir, "own.jsonl"))).toEqual(['{"step":2,"data":{"x":2}}']);
    expect(await linesOf(join(dir, "run", "metrics.jsonl"))).toHaveLength(2);
  });
});

describe("console", () => {
  it("writes verl's line of the metrics that one follows, validation first", () => {
    expect(
      consoleLine(
        {
          "timing_s/step": 0.51234,
          "critic/score/mean": 0.25,
          "response/aborted_ratio": 0,
          "val-core/s/reward/mean@1": 0.1,
        },
        4,
      ),
    ).toBe("step:4 - val-core/s/reward/mean@1:0.1 - critic/score/mean:0.25 - timing_s/step:0.5123");
  });

  it("writes everything where nothing is known", () => {
    expect(consoleLine({ "my/x": 1e-9, "my/y": 12345678 }, 1)).toBe("step:1 - my/x:1e-9 - my/y:12350000");
  });

  it("lets no name steer the terminal", () => {
    expect(consoleLine({ "val-core/\x1b[2J\n\u009b/acc/mean@1": 1 }, 1)).toBe("step:1 - val-core/?[2J??/acc/mean@1:1");
  });

  it("is quiet on a terminal but for validation results", () => {
    const isTTY = Object.getOwnPropertyDescriptor(process.stdout, "isTTY");
    const write = jest.spyOn(process.stdout, "write").mockReturnValue(true);
    try {
      Object.defineProperty(process.stdout, "isTTY", { value: true, configurable: true });
      new ConsoleTracker().log({ "critic/score/mean": 1 }, 1);
      new ConsoleTracker().log({ "val-core/s/acc/mean@1": 1 }, 2);
      expect(write.mock.calls.map(([text]) => text)).toEqual(["step:2 - val-core/s/acc/mean@1:1\n"]);
    } finally {
      write.mockRestore();
      if (isTTY) Object.defineProperty(process.stdout, "isTTY", isTTY);
      else Reflect.deleteProperty(process.stdout, "isTTY");
    }
  });
});

describe("tensorboard", () => {
  it("computes CRC-32C", () => {
    expect(crc32c(Buffer.from("123456789"))).toBe(0xe3069283);
  });

  it("writes events that an independent decoder reads", async () => {
    const tracker = new TensorBoardTracker(config());
    tracker.log({ "val-core/s/acc/mean@4": 0.75, "perf/total_num_tokens": 1e6 }, 1);
    tracker.log({ "actor/ppo_kl": Number.NaN, "späße/größe": -0.5 }, 300);
    const [name, ...others] = await readdir(join(dir, "run", "tensorboard"));
    expect(others).toEqual([]);
    expect(name).toMatch(/^events\.out\.tfevents\.\d{10}\..+/);
    const events = readEvents(await readFile(join(dir, "run", "tensorboard", name!)));
    expect(events.map(({ seconds: _, ...event }) => event)).toEqual([
      { version: "brain.Event:2" },
      { step: 1, status: 1 },
      { step: 1, scalars: { "val-core/s/acc/mean@4": 0.75, "perf/total_num_tokens": 1e6 } },
      { step: 300, scalars: { "actor/ppo_kl": Number.NaN, "späße/größe": -0.5 } },
    ]);
    for (const { seconds } of events) expect(Math.abs(seconds! - Date.now() / 1000)).toBeLessThan(60);
  });

  it("writes where TENSORBOARD_DIR says", async () => {
    process.env["TENSORBOARD_DIR"] = join(dir, "tb");
    new TensorBoardTracker(config()).log({ x: 1 }, 0);
    expect(await readdir(join(dir, "tb"))).toHaveLength(1);
  });
});

describe("Trackers", () => {
  const quiet = createLogger({ level: "silent" });

  it("builds the registered ones by key, the run's own record in any case", async () => {
    for (const { kind, key, entry } of trackers) registries[kind].register(key, entry, { source: "test" });
    const container = createRunContainer({ [CONFIG]: config() });
    const all = Trackers.create(["tensorboard"], container, quiet);
    await all.log({ x: 1 }, 1);
    await all.close();
    expect((await readdir(join(dir, "run"))).sort()).toEqual(["metrics.jsonl", "tensorboard"]);
  });

  it("warns of a metric that is not finite, once for each, with its value and step, and hands it on", async () => {
    const lines: string[] = [];
    const seen: object[] = [];
    const tracker = { log: (metrics: object) => void seen.push(metrics) };
    const all = new Trackers([["mine", tracker]], createLogger({ write: (line) => lines.push(line) }));
    await all.log({ "my/ratio": NaN, "my/loss": 1 }, 3);
    await all.log({ "my/ratio": NaN, "my/loss": -Infinity }, 4);
    expect(lines).toEqual([
      expect.stringMatching(/^warning: The metric "my\/ratio" is NaN at step 3, not a finite number\./),
      expect.stringMatching(/^warning: The metric "my\/loss" is -Infinity at step 4/),
    ]);
    expect(seen[1]).toEqual({ "my/ratio": NaN, "my/loss": -Infinity });
  });

  it("warns of one that fails, once, and goes on with the others", async () => {
    const seen: number[] = [];
    const lines: string[] = [];
    const broken: Tracker = { log: () => Promise.reject(new Error("disk full")) };
    const good: Tracker = { log: (_, step) => void seen.push(step) };
    const all = new Trackers([["broken", broken], ["good", good]], createLogger({ write: (line) => lines.push(line) })); // prettier-ignore
    for (const step of [1, 2]) await all.log({}, step);
    await all.close();
    expect(seen).toEqual([1, 2]);
    expect(lines).toEqual(['warning: The tracker "broken" failed: disk full. The run goes on without its record.']);
  });
});

interface ReadEvent {
  seconds?: number;
  step?: number;
  version?: string;
  status?: number;
  scalars?: Record<string, number>;
}

/** Reads TFRecords and Event messages by the published formats, with a bitwise CRC of its own. */
function readEvents(file: Buffer): ReadEvent[] {
  const events: ReadEvent[] = [];
  for (let at = 0; at < file.length;) {
    const length = Number(file.readBigUInt64LE(at));
    const data = file.subarray(at + 12, at + 12 + length);
    expect(file.readUInt32LE(at + 8)).toBe(slowMaskedCrc(file.subarray(at, at + 8)));
    expect(file.readUInt32LE(at + 12 + length)).toBe(slowMaskedCrc(data));
    events.push(readEvent(data));
    at += length + 16;
  }
  return events;
}

function readEvent(data: Buffer): ReadEvent {
  const event: ReadEvent = {};
  for (const { field, value } of fieldsOf(data)) {
    if (field === 1) event.seconds = (value as Buffer).readDoubleLE();
    if (field === 2) event.step = value as number;
    if (field === 3) event.version = String(value);
    if (field === 7) event.status = fieldsOf(value as Buffer)[0]!.value as number;
    if (field !== 5) continue;
    event.scalars = Object.fromEntries(
      fieldsOf(value as Buffer).map((item) => {
        const [tag, scalar] = fieldsOf(item.value as Buffer);
        return [String(tag!.value), (scalar!.value as Buffer).readFloatLE()];
      }),
    );
  }
  return event;
}

function fieldsOf(data: Buffer): { field: number; value: number | Buffer }[] {
  const fields: { field: number; value: number | Buffer }[] = [];
  let at = 0;
  const varint = () => {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = data[at++]!;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 128;
    }
  };
  while (at < data.length) {
    const key = varint();
    const wire = key & 7;
    if (wire === 0) {
      fields.push({ field: key >> 3, value: varint() });
      continue;
    }
    const size = wire === 1 ? 8 : wire === 5 ? 4 : varint();
    fields.push({ field: key >> 3, value: data.subarray(at, at + size) });
    at += size;
  }
  return fields;
}

function slowMaskedCrc(data: Buffer): number {
  let crc = 0xffffffffn;
  for (const byte of data) {
    crc ^= BigInt(byte);
    for (let bit = 0; bit < 8; bit++) crc = crc & 1n ? (crc >> 1n) ^ 0x82f63b78n : crc >> 1n;
  }
  crc ^= 0xffffffffn;
  return Number((((crc >> 15n) | (crc << 17n)) + 0xa282ead8n) & 0xffffffffn);
}
