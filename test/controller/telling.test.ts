import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { InlineTransport } from "../../core/controller/inline-transport.ts";
import { Listener } from "../../core/controller/listener.ts";
import { ThreadTransport } from "../../core/controller/thread/thread-transport.ts";
import type { Transport } from "../../core/controller/transport.ts";
import { WorkerGroup, type GroupOf } from "../../core/controller/worker-group.ts";
import { createLogger } from "../../core/registry/index.ts";
import { failure } from "./failure.ts";
import { loadPlugin } from "./load-dispatch-modes.ts";
import { TcpTransport } from "./tcp-transport.ts";
import { Telling } from "./workers/telling.ts";

/* A worker that tells of its work does the work, whatever it tells. */

// The threads' sources are compiled when they start.
jest.setTimeout(300_000);

beforeAll(loadPlugin);

const lines: string[] = [];
const told: [string, number][] = [];
let write = (line: string): void => void lines.push(line);
let take = (name: string, value: number): void => void told.push([name, value]);
const metrics = { add: (name: string, value: number) => take(name, value) };

describe.each<[string, boolean, () => Transport]>([
  ["inline", true, () => new InlineTransport()],
  ["in threads", false, () => new ThreadTransport()],
  ["over connections", false, () => new TcpTransport()],
])("ranks %s", (_, inline, make) => {
  const transport = make();
  // A logger of its own, which has warned of nothing yet.
  const log = createLogger({ write: (line) => write(line) });
  let group: GroupOf<Telling>;

  beforeAll(async () => {
    group = await WorkerGroup.create(Telling, [], { worldSize: 2, transport, log, metrics });
  });

  beforeEach(() => {
    lines.length = 0;
    told.length = 0;
    write = (line) => void lines.push(line);
    take = (name, value) => void told.push([name, value]);
  });

  afterAll(async () => {
    await group.dispose();
    await transport.close();
  });

  const done = ["done", "done"];

  it.each([
    ["plain", '{"step":3,"of":[1,"two",null,true]}'],
    ["function", '{"work":"[function]"}'],
    ["bigint", '{"rows":"5"}'],
    ["circle", '{"name":"round","self":"[circular]"}'],
    ["batch", '{"batch":"[DataProto of 3]"}'],
    ["numbers", '{"loss":"NaN","top":"Infinity","ids":"[Float32Array of 2]"}'],
    ["map", '{"by":"[Map of 1]","at":"1970-01-01T00:00:00.000Z","symbol":"[symbol]"}'],
    ["getter", '"[unreadable]"'],
    ["error", '{"cause":"RangeError: no such layer"}'],
    ["value", '"3"'],
    ["odd", '"[symbol]"'],
  ])("log lines with fields of any kind: %s", async (what, fields) => {
    expect(await group.log(what)).toEqual(done);
    expect(lines.sort()).toEqual([0, 1].map((rank) => `warning: ${what} of rank ${rank} ${fields}`));
  });

  it.each([
    ["nothing", "undefined"],
    ["value", "3"],
    ["odd", "Symbol(sign)"],
  ])("log messages that are no text: %s", async (what, text) => {
    expect(await group.logOdd(what)).toEqual(done);
    expect(new Set(lines)).toEqual(new Set([`warning: ${text}`]));
  });

  it("report metrics that are not finite as they are", async () => {
    for (const value of [NaN, Infinity, -Infinity, 0.5]) {
      told.length = 0;
      expect(await group.metric("loss", value)).toEqual(done);
      expect(told).toEqual([
        ["loss", value],
        ["loss", value],
      ]);
    }
  });

  it.each([
    ["nothing", "undefined"],
    ["value", "a bigint"],
    ["text", "a string"],
    ["work", "a function"],
    ["batch", "an object"],
  ])("are warned, once each, where a metric is no number: %s", async (what, kind) => {
    expect(await group.metricOdd(what)).toEqual(done);
    expect(told).toEqual([]);
    const said = lines.filter((line) => line.includes(`odd/${what}`)).sort();
    const sentence = (rank: number): string =>
      `warning: Rank ${rank} of Telling reports ${kind} as the metric "odd/${what}", which is left out.`;
    expect(said).toEqual([sentence(0), sentence(1)]);
  });

  it("outlive a sink of metrics and a log that fail", async () => {
    take = () => {
      throw new Error("the sink is full");
    };
    expect(await group.metric("late", 1)).toEqual(done);
    const said = lines.filter((line) => line.includes("the sink is full")).sort();
    expect(said).toEqual(
      [0, 1].map(
        (rank) => `warning: Rank ${rank} of Telling reports the metric "late", which is left out: the sink is full`,
      ),
    );
    write = () => {
      throw new Error("no room on the disk");
    };
    const stderr = jest.spyOn(process.stderr, "write").mockReturnValue(true);
    expect(await group.log("plain")).toEqual(done);
    const written = stderr.mock.calls.map(([line]) => String(line));
    stderr.mockRestore();
    expect(written.filter((line) => line.includes("plain of rank"))).toHaveLength(2);
    expect(await group.metric("late", 1)).toEqual(done);
  });

  it("say what a listener cannot be told", async () => {
    const heard: unknown[] = [];
    const listener = new Listener((value) => void heard.push(value));
    if (inline) {
      expect(await group.tell("function", listener)).toEqual(done);
    } else {
      expect(await failure(group.tell("function", listener))).toMatchObject({
        code: "VERL_WORKER_PAYLOAD",
        message: "what Telling.tell tells holds a function, which cannot be written to bytes.",
        details: { method: "tell" },
      });
    }
    expect(await group.tell("numbers", listener)).toEqual(done);
    expect(heard.at(-1)).toEqual({ loss: NaN, top: Infinity, ids: Float32Array.of(1, 2) });
  });

  it.each([
    ["bigint", { rows: "5" }],
    ["circle", { name: "round", self: "[circular]" }],
    ["work", "[function]"],
  ])("keep the facts of an error that JSON has a place for: %s", async (what, text) => {
    const { code, details } = await failure(group.fail(what));
    expect(code).toBe("VERL_BATCH_SHAPE");
    expect(details).toMatchObject({ layer: 7, method: "fail" });
    if (!inline) expect(details).toMatchObject({ told: text });
  });
});
