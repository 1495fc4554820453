import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "@jest/globals";
import fc from "fast-check";
import { ChannelServer } from "../../../core/controller/channel/channel-server.ts";
import { dial, type Link } from "../../../core/controller/channel/dial.ts";
import { frame, FrameReader, PEER_LIMITS } from "../../../core/controller/channel/frame.ts";
import { TcpChannel } from "../../../core/controller/channel/tcp-channel.ts";
import type { ChannelMessage, SentMessage } from "../../../core/controller/rank-channel.ts";
import type { Logger } from "../../../core/registry/logger.ts";

const warnings: string[] = [];
const nothing = (): void => undefined;
const log: Logger = { debug: nothing, info: nothing, warn: (line) => warnings.push(line), warnOnce: nothing };
const ends: (() => void)[] = [];

afterEach(() => {
  for (const end of ends.splice(0)) end();
  warnings.length = 0;
});

async function listen(tls?: { cert: string; key: string }, port = 0): Promise<ChannelServer> {
  const server = await ChannelServer.listen({ host: "127.0.0.1", port, tls, log });
  ends.push(() => server.close());
  return server;
}

/** Both ends of one connection. */
async function pair(tls?: { cert: string; key: string }): Promise<[TcpChannel, TcpChannel]> {
  const server = await listen(tls);
  const link = { ...server.address, id: "7", secret: "s3cret", certificate: tls?.cert };
  const arrived = new Promise<TcpChannel>((resolve) => server.expect(link.id, link.secret, resolve));
  const [near, far] = await Promise.all([arrived, dial(link)]);
  ends.push(
    () => near.close("over", true),
    () => far.close("over", true),
  );
  return [near, far];
}

const closing = (channel: TcpChannel): Promise<string> => new Promise((resolve) => channel.onClose(resolve));
const next = (channel: TcpChannel): Promise<ChannelMessage> => new Promise((resolve) => channel.onMessage(resolve));
const written = (message: SentMessage): Buffer => Buffer.concat(frame(message));
const noise = (bytes: number): Uint8Array => new Uint8Array(bytes).map((_, i) => (i * 31 + (i >> 8)) & 255);

it("puts any messages together from any pieces", () => {
  const message = fc.record({
    head: fc.dictionary(fc.string(), fc.jsonValue()).map((head) => JSON.parse(JSON.stringify(head)) as object),
    // Large ones are read in place.
    blobs: fc.array(fc.oneof(fc.uint8Array({ maxLength: 300 }), fc.integer({ min: 16_000, max: 60_000 }).map(noise)), {
      maxLength: 5,
    }),
  });
  fc.assert(
    fc.property(
      fc.array(message, { maxLength: 6 }),
      fc.infiniteStream(fc.oneof(fc.integer({ min: 1, max: 97 }), fc.integer({ min: 1, max: 40_000 }))),
      (sent, cuts) => {
        const bytes = Buffer.concat(sent.map(({ head, blobs }) => written({ head: { ...head }, blobs })));
        const reader = new FrameReader();
        reader.limits = PEER_LIMITS;
        const came: unknown[] = [];
        const deliver = ({ head, blobs }: ChannelMessage): unknown =>
          came.push({ head, blobs: blobs.map((blob) => Uint8Array.from(blob)) });
        for (let at = 0; at < bytes.byteLength;) {
          const { room } = reader;
          const part = Uint8Array.from(bytes.subarray(at, at + cuts.next().value!).subarray(0, room?.byteLength));
          at += part.byteLength;
          if (room) {
            room.set(part);
            reader.wrote(part.byteLength, deliver);
          } else reader.push(part, deliver);
          part.fill(0xee);
        }
        expect(reader.idle).toBe(true);
        expect(JSON.stringify(came)).toBe(JSON.stringify(sent));
      },
    ),
  );
});

it.each(["plain", "TLS"])("carries messages both ways in order, large ones among them: %s", async (kind) => {
  const [near, far] = await pair(kind === "TLS" ? certificate() : undefined);
  const large = noise(5_000_000);
  far.onMessage((message) => void far.send({ head: message.head, blobs: message.blobs }));
  const came: ChannelMessage[] = [];
  const all = new Promise<void>((resolve) =>
    near.onMessage((message) => {
      if (came.push(message) === 5) resolve();
    }),
  );
  for (let number = 0; number < 5; number++) {
    await near.send({ head: { number }, blobs: number % 2 ? [large.slice(), new Uint8Array(0)] : [] });
  }
  await all;
  expect(came.map(({ head }) => head["number"])).toEqual([0, 1, 2, 3, 4]);
  expect(Buffer.compare(came[3]!.blobs[0]!, large)).toBe(0);
  expect(came[3]!.blobs[1]!.byteLength).toBe(0);
});

it("holds the sender back while the receiver does not read", async () => {
  const server = createServer((socket) => socket.pause());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const socket = connect((server.address() as { port: number }).port, "127.0.0.1");
  ends.push(() => (socket.destroy(), server.close()));
  await new Promise((resolve) => socket.once("connect", resolve));
  const channel = new TcpChannel(socket);
  const states = await Promise.all([
    Promise.race([channel.send({ head: { small: true }, blobs: [] }).then(() => "ready"), pause("held back")]),
    Promise.race([
      channel.send({ head: {}, blobs: [new Uint8Array(64_000_000)] }).then(() => "ready"),
      pause("held back"),
    ]),
  ]);
  expect(states).toEqual(["ready", "held back"]);
});

it("keeps what arrives before anybody listens, and delivers what was sent before a close", async () => {
  const [near, far] = await pair();
  await far.send({ head: { last: "words" }, blobs: [noise(3_000_000)] });
  far.close();
  await far.ended;
  const [message, reason] = await Promise.all([next(near), closing(near)]);
  expect(message.blobs[0]!.byteLength).toBe(3_000_000);
  expect(reason).toBe("lost its connection");
});

it("closes on a payload that is cut in the middle, and hands nothing of it on", async () => {
  const { near, socket } = await rawPair();
  let came = 0;
  near.onMessage(() => (came += 1));
  socket.end(written({ head: {}, blobs: [noise(100_000)] }).subarray(0, -1));
  expect([await closing(near), came]).toEqual(["lost its connection in the middle of a message", 0]);
});

it.each([
  ["noise", noise(64), "its bytes are no message of this protocol"],
  ["a head that is no JSON", corrupt(written({ head: { a: 1 }, blobs: [] })), "JSON"],
  ["a payload over the limit", hugePayload(), "over the limit"],
])("closes on %s", async (_, bytes, why) => {
  const { near, socket } = await rawPair();
  socket.write(bytes);
  expect(await closing(near)).toContain(why);
});

it("refuses a wrong secret, a name that nobody waits for and a second of the same name, and says so", async () => {
  const server = await listen();
  const arrived = new Promise<TcpChannel>((resolve) => server.expect("1", "right", resolve));
  const link: Link = { ...server.address, id: "1", secret: "wrong" };
  await expect(dial(link)).rejects.toThrow("does not know the secret");
  await expect(dial({ ...link, id: "2", secret: "right" })).rejects.toThrow("does not know the secret");
  const far = await dial({ ...link, secret: "right" });
  ends.push(() => far.close("over", true));
  (await arrived).close("over", true);
  await expect(dial({ ...link, secret: "right" })).rejects.toThrow();
  while (warnings.length < 3) await pause("told late");
  expect(new Set(warnings)).toEqual(
    new Set([
      "Refused a connection from 127.0.0.1: it hung up, since it has another secret or looks for another controller.",
    ]),
  );
});

it("does not let in one that guesses the answer, nor one that sends much before it is known", async () => {
  const server = await listen();
  server.expect("1", "right", () => {
    throw new Error("let in");
  });
  const hello = { type: "hello", protocol: 1, id: "1", nonce: "0".repeat(32) };
  const guess = await strange(server, [
    written({ head: hello, blobs: [] }),
    written({ head: { type: "answer", proof: "0".repeat(64) }, blobs: [] }),
  ]);
  const flood = await strange(server, [written({ head: { text: "x".repeat(5000) }, blobs: [] })]);
  await Promise.all([guess, flood].map((socket) => new Promise((resolve) => socket.once("close", resolve))));
  expect(warnings.join("\n")).toMatch(
    /does not know the secret[^]*over the limit|over the limit[^]*does not know the secret/,
  );
});

it.each<[string, object]>([
  ["an object as its id", { id: { toString: 1 } }],
  ["a number as its id", { id: 1 }],
  ["an object as its nonce", { nonce: { toString: 1 } }],
  ["a list as its nonce", { nonce: ["0".repeat(32)] }],
  ["a later protocol", { protocol: 2 }],
])("refuses in words a hello with %s", async (_, part) => {
  const server = await listen();
  server.expect("1", "right", () => {
    throw new Error("let in");
  });
  const hello = { type: "hello", protocol: 1, id: "1", nonce: "0".repeat(32), ...part };
  const socket = await strange(server, [written({ head: hello, blobs: [] })]);
  await new Promise((resolve) => socket.once("close", resolve));
  expect(warnings).toEqual(["Refused a connection from 127.0.0.1: it speaks another protocol."]);
});

it("does not take one for its controller that answers with a challenge of another kind", async () => {
  const server = createServer((socket) => {
    ends.push(() => socket.destroy());
    socket.on("error", nothing).on("data", nothing);
    socket.write(written({ head: { type: "challenge", nonce: { toString: 1 }, proof: "" }, blobs: [] }));
  });
  ends.push(() => server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await expect(dial({ host: "127.0.0.1", port, id: "1", secret: "right" })).rejects.toThrow(
    "what answers at this address speaks another protocol",
  );
});

it.each(["plain", "TLS"])("lets one in whom it waits for, however many others are silent: %s", async (kind) => {
  const tls = kind === "TLS" ? certificate() : undefined;
  const server = await listen(tls);
  const silent = await Promise.all(Array.from({ length: 300 }, () => strange(server, [])));
  await until(() => warnings.length >= 10);
  await until(() => silent.filter(({ destroyed }) => !destroyed).length === 256);
  const link: Link = { ...server.address, id: "1", secret: "right", certificate: tls?.cert };
  const arrived = new Promise<TcpChannel>((resolve) => server.expect("1", "right", resolve));
  const far = await dial(link);
  ends.push(() => far.close("over", true));
  expect((await arrived).peer).toBe("127.0.0.1");
  expect(warnings[0]).toBe("Refused a connection from 127.0.0.1: it has not said who it is, and 256 more wait to.");
  expect(warnings).toHaveLength(10);
  expect(warnings[9]).toContain("Further ones are not told of.");
});

it.each(["plain", "TLS"])("gives one that says nothing some seconds: %s", async (kind) => {
  const server = await listen(kind === "TLS" ? certificate() : undefined);
  const socket = await strange(server, []);
  await new Promise((resolve) => socket.once("close", resolve));
  await until(() => warnings.length === 1);
  expect(warnings[0]).toMatch(
    /^Refused a connection from 127\.0\.0\.1: (it did not say who it is|TLS handshake timeout)/,
  );
});

it("tells of one that does not speak TLS", async () => {
  const server = await listen(certificate());
  const socket = await strange(server, [Buffer.from("GET / HTTP/1.1\r\n\r\n")]);
  await new Promise((resolve) => socket.once("close", resolve));
  await until(() => warnings.length === 1);
  expect(warnings[0]).toContain("Refused a connection from 127.0.0.1: ");
});

it("tells of two controllers on one port", async () => {
  const { address } = await listen();
  await expect(listen(undefined, address.port)).rejects.toMatchObject({
    code: "VERL_CONTROLLER_LISTEN",
    message: expect.stringContaining("another process listens there") as unknown as string,
  });
});

it("sends large pieces from where they are, and gives the receiver one place that is its own", async () => {
  const large = noise(100_000);
  const blobs = [[noise(3), large, noise(5)]];
  expect(frame({ head: {}, blobs })).toContain(large);
  const [near, far] = await pair();
  await near.send({ head: {}, blobs });
  const [blob] = (await next(far)).blobs;
  expect(Buffer.compare(blob!, Buffer.concat(blobs[0]!))).toBe(0);
  expect([blob!.byteOffset, blob!.buffer.byteLength]).toEqual([0, 100_008]);
});

async function until(done: () => boolean): Promise<void> {
  while (!done()) await new Promise((resolve) => setTimeout(resolve, 20));
}

const pause = <T>(value: T): Promise<T> => new Promise((resolve) => setTimeout(() => resolve(value), 300));

function corrupt(frame: Buffer): Buffer {
  frame[frame.byteLength - 1] = 0x21;
  return frame;
}

function hugePayload(): Buffer {
  const bytes = written({ head: {}, blobs: [new Uint8Array(1)] });
  bytes.writeBigUInt64LE(2n ** 60n, 12);
  return bytes;
}

/** A channel that trusts its other end, which writes what it likes. */
async function rawPair(): Promise<{ near: TcpChannel; socket: Socket }> {
  const near = new Promise<TcpChannel>((resolve) => {
    const server = createServer((socket) => {
      const channel = new TcpChannel(socket);
      channel.trust();
      resolve(channel);
    });
    ends.push(() => server.close());
    server.listen(0, "127.0.0.1", () => raw.connect((server.address() as { port: number }).port, "127.0.0.1"));
  });
  const { Socket: RawSocket } = await import("node:net");
  const raw = new RawSocket();
  raw.on("error", nothing);
  ends.push(() => raw.destroy());
  return { near: await near, socket: raw };
}

async function strange(server: ChannelServer, frames: readonly Buffer[]): Promise<Socket> {
  const socket = connect(server.address.port, "127.0.0.1");
  socket.on("error", nothing).on("data", nothing);
  ends.push(() => socket.destroy());
  await new Promise((resolve) => socket.once("connect", resolve));
  for (const frame of frames) socket.write(frame);
  return socket;
}

function certificate(): { cert: string; key: string } {
  const folder = mkdtempSync(join(tmpdir(), "verl-cert-"));
  const args =
    "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=verl -keyout key.pem -out cert.pem";
  execFileSync("openssl", args.split(" "), { cwd: folder, stdio: "ignore" });
  const [cert, key] = ["cert.pem", "key.pem"].map((file) => readFileSync(join(folder, file), "utf8"));
  rmSync(folder, { recursive: true });
  return { cert: cert!, key: key! };
}

it.each<[string, SentMessage, RegExp]>([
  [
    "head",
    { head: { text: "x".repeat(2 ** 28) }, blobs: [] },
    /^A message cannot be sent: it would be 268435467 bytes of JSON, and the limit of a message is 268435456 bytes\./,
  ],
  [
    "number of arrays",
    { head: {}, blobs: new Array(65_537).fill(new Uint8Array(1)), what: "the result of x" },
    /^The result of x cannot be sent: it would be 65537 arrays/,
  ],
  ["payload", { head: {}, blobs: [new Array(17_000).fill(new Uint8Array(2 ** 20))] }, /17825792000 bytes of arrays/],
])("refuses a message whose %s the other end would not take, and goes on", async (_, message, words) => {
  const [near, far] = await pair();
  expect(() => near.send(message)).toThrow(
    expect.objectContaining({ code: "VERL_WORKER_PAYLOAD", message: expect.stringMatching(words) }),
  );
  void near.send({ head: { after: 1 }, blobs: [] });
  expect((await next(far)).head).toEqual({ after: 1 });
});

it("goes on after a message that cannot be written", async () => {
  const [near, far] = await pair();
  const circle: Record<string, unknown> = {};
  circle["self"] = circle;
  expect(() => near.send({ head: circle, blobs: [] })).toThrow("circular");
  void near.send({ head: { after: 1 }, blobs: [] });
  expect((await next(far)).head).toEqual({ after: 1 });
});
