import type { Logger } from "../../registry/index.ts";
import { ChannelServer } from "../channel/channel-server.ts";
import type { Link } from "../channel/dial.ts";
import { randomHex } from "../channel/handshake.ts";
import type { TcpChannel } from "../channel/tcp-channel.ts";
import { raceAbort } from "../race-abort.ts";
import { launchDirect } from "./launch-direct.ts";
import { launchJob } from "./launch-job.ts";
import { lostDriver, RayDriver } from "./ray-driver.ts";
import { addressTowards, clusterAddress, readTls, requireAnswer, type RayConfig } from "./ray-settings.ts";
import { reasonOr } from "./reason-or.ts";

/** The driver in a cluster, and where it and the ranks reach this process. */
export interface Cluster {
  readonly server: ChannelServer;
  readonly driver: RayDriver;
  /** Where processes of the cluster reach this one. */
  readonly host: string;
  readonly certificate: string | undefined;
}

/**
 * Launches a driver in the cluster, which dials back.
 * @param run names the run's traces in the cluster
 * @throws VERL_RAY_CONFIG; VERL_RAY_CLUSTER where there is no way in, with the driver's last words; the reason of `signal`. Nothing is left then.
 */
export async function joinCluster(ray: RayConfig, run: string, log: Logger, signal: AbortSignal): Promise<Cluster> {
  const at = clusterAddress(ray.address);
  const tls = readTls(ray);
  if (at.launch === "direct") await requireAnswer(at.address);
  const host = ray.host ?? (await addressTowards(at.hostname));
  const server = await ChannelServer.listen({ host, port: ray.port, tls, log });
  const link: Link = { ...server.address, host, id: "driver", secret: randomHex(32), certificate: tls?.cert };
  const connected = new Promise<TcpChannel>((resolve) => server.expect(link.id, link.secret, resolve));
  try {
    const launched =
      at.launch === "direct"
        ? launchDirect(ray.python, at.address, link)
        : await launchJob({ url: at.url, python: ray.python, run, link, log });
    const ended = launched.ended.then((words): never => {
      throw lostDriver(words);
    });
    ended.catch(() => undefined);
    try {
      const channel = await raceAbort(signal, connected, ended);
      channel.trust((reason) => reasonOr(launched.ended, reason));
      const driver = new RayDriver(channel, launched, log, run);
      await raceAbort(signal, driver.ready(), ended);
      return { server, driver, host, certificate: tls?.cert };
    } catch (error) {
      await launched.kill();
      throw error;
    }
  } catch (error) {
    server.close();
    throw error;
  }
}
