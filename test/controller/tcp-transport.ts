import { ChannelServer } from "../../core/controller/channel/channel-server.ts";
import { dial } from "../../core/controller/channel/dial.ts";
import type { TcpChannel } from "../../core/controller/channel/tcp-channel.ts";
import { thisMachine } from "../../core/controller/inline-transport.ts";
import { ExchangeHub } from "../../core/controller/peers.ts";
import { closedTransport } from "../../core/controller/rank-end.ts";
import { startRank } from "../../core/controller/remote-rank.ts";
import { serveRank } from "../../core/controller/serve-rank.ts";
import type { RankHandle, SpawnRequest, Transport } from "../../core/controller/transport.ts";

/** Ranks in this thread that are reached as those in a cluster are: over a connection, in JSON text. */
export class TcpTransport implements Transport {
  private server: ChannelServer | undefined;
  private next = 0;
  private closing = false;
  private readonly ends: TcpChannel[] = [];

  resources(): ReturnType<Transport["resources"]> {
    return Promise.resolve([thisMachine()]);
  }

  async spawn(request: SpawnRequest): Promise<readonly RankHandle[]> {
    if (this.closing) throw closedTransport();
    const server = (this.server ??= await ChannelServer.listen({ host: "127.0.0.1", port: 0, log: request.log }));
    const hub = new ExchangeHub(request.pool.worldSize);
    const starts = request.pool.places.map(async (place) => {
      const link = { ...server.address, id: `${this.next++}`, secret: "s3cret" };
      const arrived = new Promise<TcpChannel>((resolve) => server.expect(link.id, link.secret, resolve));
      const far = await dial(link);
      this.ends.push(far);
      void serveRank(far);
      const channel = await arrived;
      channel.trust();
      far.trust();
      return startRank(request, place, {
        where: `connection ${link.id}`,
        channel,
        hub,
        closing: () => this.closing,
        kill: (reason) => far.close(reason, true),
      });
    });
    const settled = await Promise.allSettled(starts);
    const handles = settled.flatMap((start) => (start.status === "fulfilled" ? [start.value] : []));
    const failed = settled.find((start) => start.status === "rejected");
    if (!failed) return handles;
    await Promise.all(handles.map((handle) => handle.dispose()));
    throw failed.reason;
  }

  close(): Promise<void> {
    this.closing = true;
    this.server?.close();
    for (const end of this.ends) end.close("ended", true);
    return Promise.resolve();
  }
}
