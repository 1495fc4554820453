import { describe, expect, it } from "@jest/globals";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { FrameReader, toFrame } from "../../core/reward/pool/frames.ts";
import { EMPTY_OUTBOX, Outbox } from "../../core/reward/pool/outbox.ts";
import { Pace } from "../../core/reward/pool/pace.ts";
import { folderWith } from "../data/helpers.ts";

describe("FrameReader", () => {
  const values = [{ a: 1n }, "é".repeat(500), [Infinity, new Uint8Array([1, 2])], null];
  const bytes = Buffer.concat(values.map(toFrame));

  it.each([1, 3, 64, bytes.length])("puts chunks of %d bytes together", (size) => {
    const taken: unknown[] = [];
    const reader = new FrameReader((value) => taken.push(value));
    for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size));
    expect(taken).toEqual(values);
  });

  it("takes what one chunk ends and begins", () => {
    const taken: unknown[] = [];
    const reader = new FrameReader((value) => taken.push(value));
    reader.push(bytes.subarray(0, 10));
    reader.push(bytes.subarray(10, bytes.length - 2));
    expect(taken).toEqual(values.slice(0, -1));
    reader.push(bytes.subarray(bytes.length - 2));
    expect(taken).toEqual(values);
  });
});

describe("Outbox", () => {
  it("writes all bytes in their order, however many times the ring is full", async () => {
    const file = join(folderWith({}), "out");
    const fd = openSync(file, "w");
    const outbox = new Outbox(fd);
    const code = `${EMPTY_OUTBOX}; for (;;) empty(require("node:worker_threads").workerData, 50);`;
    const worker = new Worker(code, { eval: true, execArgv: [], workerData: outbox.data });
    const parts = Array.from({ length: 60 }, (_, i) => Buffer.alloc(1 + ((i * 7919) % 150_000), i));
    parts.forEach((part, i) => outbox.put(part, i % 3 === 0));
    outbox.drain();
    expect(readFileSync(file).equals(Buffer.concat(parts))).toBe(true);
    await worker.terminate();
    closeSync(fd);
  });
});

describe("Pace", () => {
  const paceOf = (...seconds: number[]): Pace => {
    const pace = new Pace();
    for (const one of seconds) pace.note(one);
    return pace;
  };

  it("gives one call where nothing is known, or the last ones were long", () => {
    expect(paceOf().room(0, 1000, 2)).toBe(1);
    expect(paceOf().room(1, 1000, 2)).toBe(0);
    const pace = paceOf(0.001, 0.001, 2);
    expect([pace.room(0, 1000, 2), pace.room(1, 1000, 2)]).toEqual([1, 0]);
  });

  it("gives several quick ones, again when half of them are done, and no more than 64", () => {
    const pace = paceOf(0.01);
    expect([0, 5, 6].map((load) => pace.room(load, 1000, 2))).toEqual([10, 5, 0]);
    expect(paceOf(1e-6).room(0, 1000, 2)).toBe(64);
  });

  it("gives ever fewer towards the end", () => {
    const pace = paceOf(0.001);
    expect([40, 20, 8, 3, 1].map((waiting) => pace.room(0, waiting, 2))).toEqual([10, 5, 2, 1, 1]);
  });
});
