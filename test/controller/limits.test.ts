import { afterEach, beforeAll, beforeEach, expect, it, jest } from "@jest/globals";
import { PEER_LIMITS } from "../../core/controller/channel/frame.ts";
import { Listener } from "../../core/controller/listener.ts";
import { WorkerGroup, type GroupOf } from "../../core/controller/worker-group.ts";
import { createLogger } from "../../core/registry/index.ts";
import { failure } from "./failure.ts";
import { loadPlugin } from "./load-dispatch-modes.ts";
import { TcpTransport } from "./tcp-transport.ts";
import { Wordy } from "./workers/wordy.ts";

/* A message that is too large for a connection fails what it belongs to, and nothing else. */

beforeAll(loadPlugin);

const LIMIT = 64 * 1024;
const TOO_MANY = 70_000;
const lines: string[] = [];
const log = createLogger({ write: (line) => void lines.push(line) });
let transport: TcpTransport;
let group: GroupOf<Wordy>;

const start = (mayEnd: boolean, words?: string): Promise<GroupOf<Wordy>> =>
  WorkerGroup.create(Wordy, words === undefined ? [mayEnd] : [mayEnd, words], { worldSize: 2, transport, log });

beforeEach(async () => {
  jest.replaceProperty(PEER_LIMITS, "head", LIMIT);
  transport = new TcpTransport();
  group = await start(true);
  lines.length = 0;
});

afterEach(async () => {
  expect(await group.take("still")).toEqual([5, 5]);
  await group.dispose();
  await transport.close();
  jest.restoreAllMocks();
});

it.each<[string, () => Promise<unknown>, string]>([
  ["argument", () => group.take("x".repeat(TOO_MANY)), "The arguments of Wordy.take cannot be sent"],
  ["result", () => group.give(TOO_MANY), "The result of Wordy.give cannot be sent"],
  ["told value", () => group.tell(new Listener(() => undefined), TOO_MANY), "What Wordy.tell tells cannot be sent"],
  ["share of an exchange", () => group.exchange(TOO_MANY), "brings to an exchange of Wordy cannot be sent"],
  ["argument of a constructor", () => start(true, "x".repeat(TOO_MANY)), "The arguments to construct Wordy with"],
])("says which limit a too large %s is over", async (_, call, words) => {
  const error = await failure(call());
  expect(error.code).toBe("VERL_WORKER_PAYLOAD");
  expect(error.message).toContain(words);
  expect(error.message).toMatch(/it would be 7\d\d\d\d bytes of JSON, and the limit of a message is 65536 bytes\.$/);
});

it.each<[string, () => Promise<unknown>, string]>([
  [
    "exchange that only comes to too much",
    () => group.exchange(40_000),
    "What the ranks bring to an exchange cannot be sent",
  ],
  ["error of a call", () => group.throw(TOO_MANY), "An error cannot be sent: it would be"],
  ["error of a start", () => start(true, "throw"), "An error cannot be sent: it would be"],
])("tells of a too large %s all the same", async (_, call, words) => {
  expect((await failure(call())).message).toContain(words);
});

it("loses no call for a line that is too long to be logged", async () => {
  expect(await group.log(TOO_MANY)).toEqual(["done", "done"]);
  expect(lines.filter((line) => /xxx… \[70000 characters in all\]/.test(line))).toHaveLength(2);
});

it("warns of a rank that is killed since its worker does not end", async () => {
  const endless = await start(false);
  await endless.dispose();
  const warned = lines.filter((line) => /Rank \d of Wordy \(.*\) did not stop within 10 s; it is killed\./.test(line));
  expect(warned).toHaveLength(2);
});
