import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import { isRequestFault } from "../../core/agent/request-fault.ts";
import { RolloutClient, type RolloutAnswer, type RolloutAsk } from "../../core/trainer/rollout/rollout-client.ts";
import { RolloutServer } from "../../core/trainer/rollout/rollout-server.ts";
import type { Generation, RolloutEngine, SamplingParams } from "../../core/engine/rollout-engine.ts";

const SAMPLING: SamplingParams = { temperature: 1, top_k: -1, top_p: 1, max_tokens: 4, stop_token_ids: [], seed: 1 };

const generation = (ids: Int32Array, stopReason: Generation["stopReason"]): Generation => {
  return { ids, logprobs: new Float32Array(ids.length), stopReason, weightVersion: 3 };
};

/** Gives the prompt back after as many turns of the event loop as its first token says; a signal ends it; a negative one is refused, below −1 by that HTTP status. */
const echo = {
  async generate(prompt: Int32Array, _sampling: SamplingParams, { signal }: { signal?: AbortSignal } = {}) {
    if (prompt[0]! < -1)
      throw new Error("refused", { cause: Object.assign(new Error("http"), { statusCode: -prompt[0]! }) });
    if (prompt[0]! < 0) throw new RangeError("no such token");
    for (let turns = prompt[0]!; turns > 0; turns--) {
      await turn();
      if (signal?.aborted) return generation(new Int32Array(0), "abort");
    }
    return generation(prompt, "stop");
  },
} as unknown as RolloutEngine;

/** A client whose server is in this thread, and what crosses between them. */
function connected() {
  const asks: RolloutAsk[] = [];
  const told: (readonly RolloutAnswer[])[] = [];
  const server = new RolloutServer(echo);
  const client: RolloutClient = new RolloutClient((ask) => {
    asks.push(ask);
    void server.serve(ask, (answers) => {
      told.push(answers);
      client.settle(answers);
    });
  });
  return { client, asks, told };
}

describe("an engine elsewhere", () => {
  it("is asked once a tick, and every answer comes back, whenever it is ready", async () => {
    const { client, asks, told } = connected();
    const prompts = [5, 0, 0, 3, 9, 3, 1].map((turns) => Int32Array.of(turns, 7));
    const answers = await Promise.all(prompts.map((prompt) => client.generate(prompt, SAMPLING)));
    expect(answers).toEqual(prompts.map((prompt) => generation(prompt, "stop")));
    expect(asks.map(({ requests }) => requests.length)).toEqual([7]);
    // Those of one tick come together.
    expect(told.length).toBeLessThan(7);
    expect(told.flat()).toHaveLength(7);
    expect(client.weightVersion).toBe(3);
  });

  it("ends what is cancelled with what there is, and fails what it refuses", async () => {
    const { client } = connected();
    const [stop, early] = [new AbortController(), AbortSignal.abort()];
    const long = client.generate(Int32Array.of(1000), SAMPLING, { signal: stop.signal });
    const never = client.generate(Int32Array.of(1000), SAMPLING, { signal: early });
    const refused = client.generate(Int32Array.of(-1), SAMPLING);
    await expect(refused).rejects.toThrow("no such token");
    expect((await never).stopReason).toBe("abort");
    stop.abort();
    expect((await long).stopReason).toBe("abort");
  });

  it("tells the HTTP status that it refused a request by", async () => {
    const { client } = connected();
    await expect(client.generate(Int32Array.of(-429), SAMPLING)).rejects.toMatchObject({ cause: { status: 429 } });
    for (const [status, isOfTheRequest] of [
      [400, true],
      [503, false],
    ] as const) {
      const error: unknown = await client.generate(Int32Array.of(-status), SAMPLING).catch((thrown: unknown) => thrown);
      expect(isRequestFault(error)).toBe(isOfTheRequest);
    }
  });

  it("that is gone fails all that wait", async () => {
    const client = new RolloutClient(() => undefined);
    const waiting = client.generate(Int32Array.of(1), SAMPLING);
    client.fail(new Error("gone"));
    await expect(waiting).rejects.toThrow("gone");
  });
});
