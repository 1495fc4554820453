import { createServer, Socket, type AddressInfo, type Server } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { VerlError } from "../../errors/index.ts";
import type { Logger } from "../../registry/logger.ts";
import { receive, welcome } from "./handshake.ts";
import { ReadInPlace } from "./onread.ts";
import { TcpChannel } from "./tcp-channel.ts";

export interface ChannelServerOptions {
  /** Address of this machine to listen on. */
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  /** Certificate and private key in PEM; absent: no TLS. */
  readonly tls?: { readonly cert: string; readonly key: string };
  readonly log: Logger;
}

interface Awaited {
  readonly secret: string;
  readonly arrive: (channel: TcpChannel) => void;
}

/** Strangers that may be in the middle of their introduction at a time. */
const MAX_STRANGERS = 256;
/** Refusals that are told one by one. */
const MAX_TOLD = 10;

/** Where processes dial in. Each is waited for by name, with a secret of its own, and comes once. */
export class ChannelServer {
  private readonly awaited = new Map<string, Awaited>();
  private readonly strangers = new Set<Socket>();
  private refused = 0;

  private constructor(
    private readonly server: Server,
    private readonly log: Logger,
  ) {}

  /** @throws VERL_CONTROLLER_LISTEN when the address is not this machine's, or taken. */
  static async listen({ host, port, tls, log }: ChannelServerOptions): Promise<ChannelServer> {
    const server = tls ? createTlsServer(tls) : createServer({ pauseOnConnect: true });
    const own = new ChannelServer(server, log);
    if (tls) server.on("secureConnection", (socket: Socket) => void own.meet(socket, new TcpChannel(socket)));
    else server.on("connection", (accepted: Socket) => void own.meet(...readInPlace(accepted)));
    await new Promise<void>((resolve, reject) => {
      server.once("error", (error: NodeJS.ErrnoException) => reject(listenError(error, host, port)));
      server.listen({ host, port }, resolve);
    });
    return own;
  }

  get address(): { readonly host: string; readonly port: number } {
    const { address, port } = this.server.address() as AddressInfo;
    return { host: address, port };
  }

  /** Waits for a process. @param arrive gets its channel, the first and only time that it comes. */
  expect(id: string, secret: string, arrive: (channel: TcpChannel) => void): void {
    this.awaited.set(id, { secret, arrive });
  }

  forget(id: string): void {
    this.awaited.delete(id);
  }

  close(): void {
    this.awaited.clear();
    this.server.close();
    for (const socket of this.strangers) socket.destroy();
  }

  private async meet(socket: Socket, channel: TcpChannel): Promise<void> {
    if (this.strangers.size >= MAX_STRANGERS) return channel.close("came at a bad time", true);
    this.strangers.add(socket);
    try {
      const id = await receive(channel, (asked) => this.awaited.get(asked)?.secret);
      const { arrive } = this.awaited.get(id)!;
      this.awaited.delete(id);
      welcome(channel);
      arrive(channel);
    } catch (error) {
      this.refused += 1;
      channel.close("was refused", true);
      if (this.refused <= MAX_TOLD) {
        this.log.warn(
          `Refused a connection from ${channel.peer}: ${error instanceof Error ? error.message : String(error)}.`,
        );
      }
    } finally {
      this.strangers.delete(socket);
    }
  }
}

/**
 * The same connection as a socket that reads in place, which a server does not make by itself: its handle goes to a new socket.
 * @param accepted paused. Where it has no handle to give, it reads as streams do.
 */
function readInPlace(accepted: Socket): [Socket, TcpChannel] {
  const held = accepted as { _handle?: unknown };
  const handle = held._handle;
  if (typeof handle !== "object" || handle === null) {
    accepted.resume();
    return [accepted, new TcpChannel(accepted)];
  }
  held._handle = null;
  const reading = new ReadInPlace();
  const options: object = { handle, onread: reading.onread };
  const socket = new Socket(options);
  return [socket, reading.feed(new TcpChannel(socket, true))];
}

function listenError({ code, message }: NodeJS.ErrnoException, host: string, port: number): VerlError {
  const why = code === "EADDRINUSE" ? "another process listens there" : message;
  return new VerlError("VERL_CONTROLLER_LISTEN", `The controller cannot listen on ${host}:${port}: ${why}.`, {
    hint: "Set controller.ray.host to an address of this machine that the cluster reaches, and controller.ray.port to a free port, or to 0 for any.",
  });
}
