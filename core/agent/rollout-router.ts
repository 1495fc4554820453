import type { Generation, RolloutEngine, SamplingParams } from "../engine/rollout-engine.ts";
import type { WeightMap } from "../engine/training-engine.ts";

/** Conversations whose server is remembered; the one that was asked for longest ago goes first. */
const REMEMBERED = 100_000;

/**
 * Several rollout servers as one engine. A new conversation goes to the server with the fewest requests under way, and stays with it, so
 * that its turns find their prefix in that server's cache. A server that failed a conversation loses it: the next attempt goes elsewhere.
 */
export class RolloutRouter implements RolloutEngine {
  /** Requests under way, a server. */
  private readonly inFlight: number[];
  private readonly servers = new Map<string, number>();

  /** @param engines one a server, at least one */
  constructor(private readonly engines: readonly RolloutEngine[]) {
    this.inFlight = engines.map(() => 0);
  }

  /** Of the weights that every server has by now. */
  get weightVersion(): number {
    return Math.min(...this.engines.map(({ weightVersion }) => weightVersion));
  }

  async generate(
    promptIds: Int32Array,
    sampling: SamplingParams,
    options: { signal?: AbortSignal; sticky?: string } = {},
  ): Promise<Generation> {
    const { sticky } = options;
    const server = (sticky === undefined ? undefined : this.servers.get(sticky)) ?? this.idlest(sticky);
    if (sticky !== undefined) this.remember(sticky, server);
    this.inFlight[server]! += 1;
    try {
      return await this.engines[server]!.generate(promptIds, sampling, options);
    } catch (error) {
      if (sticky !== undefined) this.servers.delete(sticky);
      throw error;
    } finally {
      this.inFlight[server]! -= 1;
    }
  }

  async updateWeights(weights: WeightMap): Promise<void> {
    await Promise.all(this.engines.map((engine) => engine.updateWeights(weights)));
  }

  async sleep(tags: readonly string[]): Promise<void> {
    await Promise.all(this.engines.map((engine) => engine.sleep(tags)));
  }

  async wake(tags: readonly string[]): Promise<void> {
    await Promise.all(this.engines.map((engine) => engine.wake(tags)));
  }

  async abort(): Promise<void> {
    await Promise.all(this.engines.map((engine) => engine.abort()));
  }

  dispose(): void {
    for (const engine of this.engines) engine.dispose();
  }

  /** Of equally idle servers the one that `sticky` falls on, so that not all begin with the first. */
  private idlest(sticky = ""): number {
    const least = Math.min(...this.inFlight);
    const idle = this.inFlight.flatMap((count, server) => (count === least ? [server] : []));
    let hash = 0;
    for (let i = 0; i < sticky.length; i += 1) hash = (Math.imul(hash, 31) + sticky.charCodeAt(i)) >>> 0;
    return idle[hash % idle.length]!;
  }

  private remember(sticky: string, server: number): void {
    this.servers.delete(sticky);
    this.servers.set(sticky, server);
    if (this.servers.size <= REMEMBERED) return;
    const [oldest] = this.servers.keys();
    this.servers.delete(oldest!);
  }
}
