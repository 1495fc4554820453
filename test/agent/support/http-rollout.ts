import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Generation, RolloutEngine, SamplingParams } from "../../../core/engine/rollout-engine.ts";

type Reply = (prompt: readonly number[], response: ServerResponse, request: number) => void;

/** A generation server on loopback; `reply` decides what each request gets. */
export class GenerationServer {
  requests = 0;
  /** Requests that wait for an answer. */
  open = 0;
  private readonly server: Server;

  constructor(reply: Reply) {
    this.server = createServer((request, response) => {
      this.open += 1;
      response.on("close", () => (this.open -= 1));
      let text = "";
      request.setEncoding("utf8").on("data", (piece: string) => (text += piece));
      request.on("end", () => reply((JSON.parse(text) as { prompt: number[] }).prompt, response, ++this.requests));
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}

export const tokens = (response: ServerResponse, ids: readonly number[], logprobs = ids.map(() => -0.5)): void =>
  void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ ids, logprobs }));

/** A rollout engine over HTTP. */
export class HttpRollout implements RolloutEngine {
  readonly weightVersion = 0;

  constructor(private readonly url: string) {}

  async generate(
    promptIds: Int32Array,
    sampling: SamplingParams,
    { signal }: { signal?: AbortSignal } = {},
  ): Promise<Generation> {
    const response = await fetch(this.url, {
      method: "POST",
      body: JSON.stringify({ prompt: [...promptIds], sampling }),
      signal,
    });
    if (!response.ok) {
      await response.body?.cancel();
      throw new Error(`HTTP ${response.status}`);
    }
    const { ids, logprobs } = (await response.json()) as { ids: number[]; logprobs: number[] };
    return { ids: Int32Array.from(ids), logprobs: Float32Array.from(logprobs), stopReason: "stop", weightVersion: 0 };
  }

  async updateWeights(): Promise<void> {}
  async sleep(): Promise<void> {}
  async wake(): Promise<void> {}
  async abort(): Promise<void> {}
  dispose(): void {}
}
