import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { describe, expect, it } from "@jest/globals";
import { APIUserAbortError } from "openai";
import type { SamplingParams } from "../../core/engine/rollout-engine.ts";
import { LettersTokenizer } from "./letters-tokenizer.ts";
import { generation, ScriptedRollout, withSession } from "./support.ts";

const ASK = { model: "m", messages: [{ role: "user" as const, content: "1+1" }] };
const SAMPLING: SamplingParams = { temperature: 1, top_k: -1, top_p: 1, max_tokens: 9, stop_token_ids: [], seed: 0 };
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const errorOf = (request: Promise<unknown>): Promise<unknown> =>
  request.then(
    () => undefined,
    (error: unknown) => error,
  );

/** A client of its own, which reads nothing until it is resumed. */
function post(baseURL: string, apiKey: string, body: string, length = body.length): Socket {
  const head = `host: x\r\nauthorization: Bearer ${apiKey}\r\ncontent-length: ${length}`;
  const socket = connect(Number(new URL(baseURL).port), "127.0.0.1");
  socket.on("error", () => undefined);
  socket.write(`POST /v1/completions HTTP/1.1\r\n${head}\r\n\r\n${body}`);
  return socket;
}

/** An engine that does not listen to aborts. */
class DeafRollout extends ScriptedRollout {
  override generate(promptIds: Int32Array, sampling: SamplingParams) {
    return super.generate(promptIds, sampling);
  }
}

describe("an answer that an engine gives although its request was aborted", () => {
  it.each([false, true])("is none that is trained on (streaming: %s)", async (stream) => {
    let late = (_: string): void => undefined;
    const rollout = new DeafRollout((_, number) =>
      number === 0 ? new Promise((resolve) => (late = resolve)) : number === 1 ? "=2" : "=33",
    );
    await withSession(rollout, async ({ client, session }) => {
      const leaves = new AbortController();
      const asked = errorOf(client.chat.completions.create({ ...ASK, stream }, { signal: leaves.signal }));
      while (rollout.requests.length === 0) await pause(5);
      leaves.abort();
      expect(await asked).toBeInstanceOf(APIUserAbortError);
      while (session.counts.aborted === 0) await pause(5);
      expect((await client.chat.completions.create(ASK)).choices[0]!.message.content).toBe("=2");
      late("=11111");
      await pause(20);
      expect(session.exchanges.map(({ answer }) => answer.ids.length)).toEqual([3]);
      expect(session.counts).toMatchObject({ requests: 1, aborted: 1, failed: 0 });
    });
  });

  it("makes up for no failure of the engine", async () => {
    let late = (_: string): void => undefined;
    const rollout = new DeafRollout((_, number) =>
      number === 0 ? Promise.reject(new Error("down")) : new Promise((resolve) => (late = resolve)),
    );
    await withSession(rollout, async ({ client, session }) => {
      await errorOf(client.chat.completions.create(ASK));
      const leaves = new AbortController();
      const asked = errorOf(client.chat.completions.create(ASK, { signal: leaves.signal }));
      while (rollout.requests.length < 2) await pause(5);
      leaves.abort();
      await asked;
      while (session.counts.aborted === 0) await pause(5);
      late("=2");
      await pause(20);
      expect(session.fault?.error).toMatchObject({ message: "down" });
    });
  });

  it("keeps a session's end from nobody: its clients are told, and counted", async () => {
    const rollout = new DeafRollout(() => new Promise(() => {}));
    await withSession(rollout, async ({ client, session, gateway, baseURL, apiKey }) => {
      // The server runs on.
      const other = await gateway.open({ rollout, sampling: SAMPLING, choosesSampling: false });
      // Its head is there before the others are.
      const slow = post(baseURL, apiKey, "{", 9).resume();
      await once(slow, "connect");
      const asked = [false, true].map((stream) => errorOf(client.chat.completions.create({ ...ASK, stream })));
      while (rollout.requests.length < 2) await pause(5);
      const ended = once(slow, "close");
      await gateway.close(session);
      expect(session.counts).toMatchObject({ requests: 0, aborted: 3, failed: 0 });
      for (const error of await Promise.all(asked)) expect(error).toMatchObject({ status: 503, code: "aborted" });
      await ended;
      await gateway.close(other.session);
    });
  });
});

it("a client that does not read holds no connection of a session that has ended", async () => {
  class ShortRollout extends ScriptedRollout {
    override generate = () => Promise.resolve(generation([1], [0]));
  }
  const rollout = new ShortRollout(() => "");
  const use = async ({ session, gateway, baseURL, apiKey }: Parameters<Parameters<typeof withSession>[1]>[0]) => {
    const other = await gateway.open({ rollout, sampling: SAMPLING, choosesSampling: false });
    // More than the system keeps for a connection.
    const [letters, n] = [300_000, 64];
    const body = JSON.stringify({ model: "m", prompt: "1".repeat(letters), echo: true, n });
    const socket = post(baseURL, apiKey, body);
    while (session.counts.requests === 0) await pause(5);
    await gateway.close(session);
    let read = 0;
    socket.on("data", (data) => (read += data.length));
    await once(socket, "close");
    expect(read).toBeLessThan(letters * n);
    await gateway.close(other.session);
  };
  await withSession(rollout, use, {}, { tokenizer: new LettersTokenizer() });
});
