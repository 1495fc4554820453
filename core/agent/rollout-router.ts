import type { Generation, RolloutEngine, SamplingParams } from "../engine/rollout-engine.ts";
import type { WeightMap } from "../engine/training-engine.ts";
import { DeadlineError } from "../reward/deadline.ts";
import { generationFault } from "./generation-fault.ts";
import { isRequestFault } from "./request-fault.ts";
import { ServerHealth } from "./server-health.ts";

/** Conversations whose server is remembered; the one that was asked for longest ago goes first. */
const REMEMBERED = 100_000;

/** Where a conversation was asked for last. */
interface Place {
  readonly server: number;
  /** Its request ended without an answer there. */
  failed: boolean;
}

/**
 * Several rollout servers as one engine. A new conversation goes to the server with the fewest requests under way, and stays with it, so
 * that its turns find their prefix in that server's cache. A server that failed a conversation loses it: the next attempt goes elsewhere
 * while there is another. A server that fails is spared for a second, and twice as long each further time (a minute at most); then it is
 * tried by one request, and has its share again once that is answered. Where all are spared, they are asked all the same. A request that
 * is refused for what it asks, such as one with too long a prompt, says nothing of its server; one that has no answer when its time is
 * over does.
 */
export class RolloutRouter implements RolloutEngine {
  private readonly health: readonly ServerHealth[];
  private readonly places = new Map<string, Place>();

  /**
   * @param engines one a server, at least one
   * @param now milliseconds of a clock that never goes back
   */
  constructor(
    private readonly engines: readonly RolloutEngine[],
    now: () => number = () => performance.now(),
  ) {
    this.health = engines.map(() => new ServerHealth(now));
  }

  /** Of the weights that every server has by now. */
  get weightVersion(): number {
    return Math.min(...this.engines.map(({ weightVersion }) => weightVersion));
  }

  /** Of the smallest model that is known, so that every server can read what another wrote. */
  get vocabSize(): number | undefined {
    const known = this.engines.flatMap(({ vocabSize }) => vocabSize ?? []);
    return known.length === 0 ? undefined : Math.min(...known);
  }

  async generate(
    promptIds: Int32Array,
    sampling: SamplingParams,
    options: { signal?: AbortSignal; sticky?: string } = {},
  ): Promise<Generation> {
    const { signal, sticky } = options;
    const place = this.placeOf(sticky);
    const health = this.health[place.server]!;
    const leave = (): void => void (place.failed = true);
    health.inFlight += 1;
    let isUnderWay = true;
    const end = (): void => {
      if (isUnderWay) health.inFlight -= 1;
      isUnderWay = false;
    };
    // A server that stalls may never settle what was asked of it, and would count as busy for ever.
    const giveUp = (): void => {
      leave();
      end();
      if (signal!.reason instanceof DeadlineError) health.failed();
    };
    signal?.addEventListener("abort", giveUp, { once: true });
    try {
      const generation = await this.engines[place.server]!.generate(promptIds, sampling, options);
      const fault = generationFault(generation);
      if (fault !== undefined) throw fault;
      health.answered();
      return generation;
    } catch (error) {
      // Nobody waits for it any more, or every server would refuse it.
      if (signal?.aborted !== true && !isRequestFault(error)) {
        leave();
        health.failed();
      }
      throw error;
    } finally {
      end();
      signal?.removeEventListener("abort", giveUp);
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

  /** The conversation's own server while that serves, or another. */
  private placeOf(sticky: string | undefined): Place {
    const last = sticky === undefined ? undefined : this.places.get(sticky);
    const stays = last !== undefined && !last.failed && this.health[last.server]!.isOpen;
    const place = stays
      ? last
      : { server: this.choose(sticky, last?.failed === true ? last.server : undefined), failed: false };
    if (sticky !== undefined) this.remember(sticky, place);
    return place;
  }

  /** @param avoided the server that failed the conversation */
  private choose(sticky: string | undefined, avoided: number | undefined): number {
    const all = [...this.health.keys()];
    const others = all.length > 1 ? all.filter((server) => server !== avoided) : all;
    const isOpen = (server: number): boolean => this.health[server]!.isOpen;
    const open = others.some(isOpen) ? others.filter(isOpen) : all.filter(isOpen);
    const least = (servers: readonly number[], of: (health: ServerHealth) => number): number[] => {
      const fewest = Math.min(...servers.map((server) => of(this.health[server]!)));
      return servers.filter((server) => of(this.health[server]!) === fewest);
    };
    // Of servers that all are spared, those that did not fail again when they were tried.
    const candidates = open.length > 0 ? open : least(others, ({ failedAgain }) => Number(failedAgain));
    const idlest = least(candidates, ({ inFlight }) => inFlight);
    return idlest[hashOf(sticky) % idlest.length]!;
  }

  private remember(sticky: string, place: Place): void {
    this.places.delete(sticky);
    this.places.set(sticky, place);
    if (this.places.size <= REMEMBERED) return;
    const [oldest] = this.places.keys();
    this.places.delete(oldest!);
  }
}

/** Spreads conversations over equally idle servers, so that not all begin with the first. */
function hashOf(sticky = ""): number {
  let hash = 0;
  for (let at = 0; at < sticky.length; at += 1) hash = (Math.imul(hash, 31) + sticky.charCodeAt(at)) >>> 0;
  return hash;
}
