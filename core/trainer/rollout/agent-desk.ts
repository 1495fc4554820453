import { RolloutRouter } from "../../agent/rollout-router.ts";
import type { DataProto } from "../../batch/data-proto.ts";
import { Listener, type GroupOf } from "../../controller/index.ts";
import type { ActorRolloutRefWorker } from "../workers/actor-rollout-ref-worker.ts";
import type { AgentLoopWorker, AskOfRank } from "../workers/agent-loop-worker.ts";
import type { GenerateOptions } from "../workers/answer-prompts.ts";
import { RolloutClient, type RolloutAnswer } from "./rollout-client.ts";
import { RolloutServer } from "./rollout-server.ts";

/**
 * Agent loops on ranks of their own, and the engines on others: what the loops ask goes through here to the engine with the fewest
 * requests under way, and the answers back. A conversation stays with its engine.
 */
export class AgentDesk {
  private readonly clients: readonly RolloutClient[];
  private readonly servers: readonly RolloutServer[];
  /** Ends the generation under way. */
  private fail: (error: unknown) => void = () => undefined;

  constructor(
    private readonly agents: GroupOf<AgentLoopWorker>,
    private readonly engines: GroupOf<ActorRolloutRefWorker>,
  ) {
    this.clients = Array.from({ length: engines.worldSize }, (_, rank) => this.clientOf(rank));
    const router = new RolloutRouter(this.clients);
    // Ids are each asking rank's own.
    this.servers = Array.from({ length: agents.worldSize }, () => new RolloutServer(router));
  }

  /** Answers every row, as the method of that name of the workers. @throws what an engine or a worker failed with */
  async generateSequences(prompts: DataProto, options: GenerateOptions): Promise<DataProto> {
    const broken = new AbortController();
    this.fail = (error) => broken.abort(error);
    const signal = AbortSignal.any([options.signal, broken.signal]);
    const asked = new Listener<AskOfRank>((ask) => this.ask(ask));
    try {
      return await this.agents.generateSequences(prompts, { ...options, signal, asked });
    } catch (error) {
      // The loops tell of an engine that is gone as of any answer that failed.
      throw broken.signal.aborted ? broken.signal.reason : error;
    } finally {
      this.fail = () => undefined;
    }
  }

  private ask({ rank, ...ask }: AskOfRank): void {
    const tell = (answers: readonly RolloutAnswer[]): void => {
      this.agents.executeRank(rank, "takeAnswers", answers).catch((error: unknown) => this.fail(error));
    };
    this.servers[rank]!.serve(ask, tell).catch((error: unknown) => this.fail(error));
  }

  private clientOf(rank: number): RolloutClient {
    const client: RolloutClient = new RolloutClient((ask) => {
      const told = new Listener<readonly RolloutAnswer[]>((answers) => client.settle(answers));
      this.engines.executeRank(rank, "serveRequests", ask, told).catch((error: unknown) => {
        this.fail(error);
        client.fail(error);
      });
    });
    return client;
  }
}
