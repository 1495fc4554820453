import { afterAll, afterEach, expect, it } from "@jest/globals";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { download } from "../../plugins/tensor-backend/tensorflow/download.ts";

const folder = await mkdtemp(join(tmpdir(), "verl-download-"));
const file = join(folder, "library.tar.gz");
const LIMITS = { bytes: 2 ** 20, answerMs: 5_000, stallMs: 5_000 };
const PIECE = Buffer.alloc(2 ** 16, 7);

let server: Server | undefined;

async function serve(answer: RequestListener): Promise<string> {
  const started = (server = createServer(answer));
  await new Promise<void>((resolve) => started.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(started.address() as AddressInfo).port}/library.tar.gz`;
}

afterEach(async () => {
  server?.closeAllConnections();
  await new Promise((resolve) => server?.close(resolve));
  await rm(file, { force: true });
});
afterAll(() => rm(folder, { recursive: true }));

const never = new AbortController().signal;

async function expectFailure(attempt: Promise<void>, why: RegExp): Promise<void> {
  await expect(attempt).rejects.toMatchObject({
    code: "VERL_BACKEND_INSTALL",
    message: expect.stringMatching(why),
    hint: expect.stringContaining("--from python"),
  });
  expect(await readdir(folder)).toEqual([]);
}

it("fetches a file whose length is not told", async () => {
  const url = await serve((_, response) => {
    response.write(PIECE);
    response.end(PIECE);
  });
  await download(url, file, never, LIMITS);
  expect((await readFile(file)).equals(Buffer.concat([PIECE, PIECE]))).toBe(true);
});

it("fetches one of exactly the size allowed, over longer than a stall", async () => {
  const url = await serve((_, response) => {
    let left = LIMITS.bytes / PIECE.length;
    const timer = setInterval(() => {
      response.write(PIECE);
      if (--left > 0) return;
      clearInterval(timer);
      response.end();
    }, 250);
  });
  await download(url, file, never, { ...LIMITS, stallMs: 3_000 });
  expect(await readFile(file)).toHaveLength(LIMITS.bytes);
});

it("ends a body that has no end", async () => {
  let sent = 0;
  const url = await serve((_, response) => {
    const more = (): void => {
      while (!response.destroyed && response.write(PIECE)) sent += PIECE.length;
    };
    response.on("drain", more);
    more();
  });
  await expectFailure(download(url, file, never, LIMITS), /larger than the 1 MiB/);
  expect(sent).toBeLessThan(2 ** 26);
});

it("does not begin with one that is told to be too large", async () => {
  const url = await serve((_, response) => {
    response.writeHead(200, { "content-length": LIMITS.bytes + 1 });
    response.write(PIECE);
  });
  await expectFailure(download(url, file, never, LIMITS), /larger than the 1 MiB/);
});

it.each([{ "content-length": 2 * PIECE.length }, {}])(
  "ends a body that stands still, with headers %o",
  async (headers) => {
    const url = await serve((_, response) => {
      response.writeHead(200, headers);
      response.write(PIECE);
    });
    await expectFailure(download(url, file, never, { ...LIMITS, stallMs: 300 }), /stood still for 0.3 s/);
  },
);

it("ends the wait for a server that does not answer", async () => {
  const url = await serve(() => undefined);
  await expectFailure(download(url, file, never, { ...LIMITS, answerMs: 300 }), /got no answer for 0.3 s/);
});

it("tells of a connection that breaks, and of an answer that is none", async () => {
  const broken = await serve((_, response) => {
    response.writeHead(200, { "content-length": 2 * PIECE.length });
    response.write(PIECE, () => response.destroy());
  });
  await expectFailure(download(broken, file, never, LIMITS), /broke off/);
  server!.close();
  const missing = await serve((_, response) => response.writeHead(404).end("gone"));
  await expectFailure(download(missing, file, never, LIMITS), /was answered by 404 Not Found/);
});

it("stops when it is told to, and leaves nothing", async () => {
  const stop = new AbortController();
  const url = await serve((_, response) => {
    response.write(PIECE, () => stop.abort(new Error("enough")));
  });
  await expect(download(url, file, stop.signal, LIMITS)).rejects.toThrow("enough");
  expect(await readdir(folder)).toEqual([]);
});
