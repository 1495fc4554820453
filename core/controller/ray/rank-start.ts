import { VerlError } from "../../errors/index.ts";
import { keepBeat } from "../channel/beat.ts";
import { randomHex } from "../channel/handshake.ts";
import type { TcpChannel } from "../channel/tcp-channel.ts";
import type { ExchangeHub } from "../peers.ts";
import { raceAbort } from "../race-abort.ts";
import { CLOSE_LATER, WITH_TRANSPORT } from "../rank-end.ts";
import { startRank } from "../remote-rank.ts";
import type { RankPlace } from "../resource-pool.ts";
import type { RankHandle, SpawnRequest } from "../transport.ts";
import type { Cluster } from "./cluster.ts";
import type { RankEvent, RankOrder } from "./ray-driver.ts";
import type { RankLine } from "./ray-rank.ts";
import { reasonOr } from "./reason-or.ts";

/** Seconds without a sign of life of a rank's process, or of the way to it. */
const RANK_UNREACHABLE_S = 6;
/** Seconds after which a rank gives up a controller that it cannot reach; one that has ended is noticed at once. */
const CONTROLLER_UNREACHABLE_S = 60;

/** One rank from the order to its handle, and what is told of its process ever after. */
export class RankStart {
  readonly order: RankOrder;
  private channel: TcpChannel | undefined;
  private where = "";
  private readonly arrived: Promise<TcpChannel>;
  /** Settles with the reason once the process has ended, or is lost. */
  readonly over: Promise<string>;
  private settleOver!: (reason: string) => void;
  /** Settles once the process runs. */
  readonly started: Promise<void>;
  private settleStarted!: () => void;
  /** There is a place for it. */
  placed = false;

  constructor(
    private readonly cluster: Cluster,
    private readonly request: SpawnRequest,
    private readonly place: RankPlace,
    private readonly hub: ExchangeHub,
    order: Omit<RankOrder, "first_line">,
    private readonly closing: () => boolean,
  ) {
    const { server, host, certificate } = cluster;
    const own = { host, port: server.address.port, certificate, secret: randomHex(32) };
    const line: RankLine = {
      link: { ...own, id: order.id },
      beat: { ...own, id: `${order.id}/beat` },
      silentS: CONTROLLER_UNREACHABLE_S,
    };
    this.order = { ...order, first_line: JSON.stringify(line) };
    this.over = new Promise((resolve) => (this.settleOver = resolve));
    this.started = new Promise((resolve) => (this.settleStarted = resolve));
    this.arrived = new Promise((resolve) => server.expect(line.link.id, own.secret, resolve));
    server.expect(line.beat.id, own.secret, (channel) => this.watch(channel));
    void cluster.driver.gone.then((reason) => this.settleOver(`lost the driver in the Ray cluster, which ${reason}`));
  }

  /** Takes what the driver says of the process. */
  tell(event: RankEvent): void {
    if (event.type === "placed") this.placed = true;
    else if (event.type === "started") {
      this.where = `${event.ip}, process ${event.pid}`;
      this.settleStarted();
    } else if (event.type === "lost") {
      this.settleOver(`was lost with its Ray actor: ${event.reason}`);
    } else {
      const { code, tail } = event;
      const how = code < 0 ? `was ended by signal ${-code}` : code === 0 ? "ended itself" : `exited with code ${code}`;
      this.settleOver(code === 0 || tail === "" ? how : `${how}; its last lines:\n${tail}\n`);
    }
  }

  async handle(): Promise<RankHandle> {
    const { signal } = this.request;
    const over = this.over.then((reason): never => {
      throw this.died(reason);
    });
    over.catch(() => undefined);
    const channel = await raceAbort(signal, this.arrived, over);
    await raceAbort(signal, this.started, over);
    this.channel = channel;
    channel.trust((reason) => reasonOr(this.over, reason));
    void this.over.then((reason) => channel.close(reason));
    return startRank(this.request, this.place, {
      where: this.where,
      channel,
      hub: this.hub,
      closing: this.closing,
      kill: () => this.giveUp(),
    });
  }

  /** Ends the process, wherever its start has come to. */
  giveUp(): void {
    const { server, driver } = this.cluster;
    server.forget(this.order.id);
    server.forget(`${this.order.id}/beat`);
    driver.stop(this.order.id);
    this.channel?.close("was given up");
  }

  private watch(beat: TcpChannel): void {
    keepBeat(
      beat,
      () => RANK_UNREACHABLE_S,
      (reason) => {
        beat.close(reason, true);
        this.settleOver(reason);
      },
    );
  }

  private died(reason: string): VerlError {
    const { rank } = this.place;
    const who = `Rank ${rank} of ${this.request.name}`;
    if (this.closing()) {
      return new VerlError("VERL_WORKER_DIED", `${who} ${WITH_TRANSPORT}, before it was ready.`, {
        hint: CLOSE_LATER,
        details: { rank },
      });
    }
    return new VerlError("VERL_WORKER_DIED", `${who} ${reason} before it was ready.`, {
      hint: `The machines of the cluster need the same Node.js, package and project at the same paths as this one, and a way to it at ${this.cluster.host}:${this.cluster.server.address.port}.`,
      details: { rank, reason },
    });
  }
}
