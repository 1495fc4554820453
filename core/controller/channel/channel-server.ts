import { createServer, Socket, type AddressInfo, type Server } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { VerlError } from "../../errors/index.ts";
import type { Logger } from "../../registry/logger.ts";
import { thrownText } from "../thrown-text.ts";
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

/** Connections that may be in the middle of their introduction at a time, beside those that are waited for. */
const MAX_STRANGERS = 256;
/** How long a TLS handshake may take. */
const HANDSHAKE_MS = 10_000;
/** Refusals that are told one by one. */
const MAX_TOLD = 10;

/** Where processes dial in. Each is waited for by name, with a secret of its own, and comes once. */
export class ChannelServer {
  private readonly awaited = new Map<string, Awaited>();
  /** By address and port of the other end, the oldest first. */
  private readonly strangers = new Map<string, Socket>();
  private refused = 0;

  private constructor(
    private readonly server: Server,
    private readonly log: Logger,
  ) {}

  /** @throws VERL_CONTROLLER_LISTEN when the address is not this machine's, or taken. */
  static async listen({ host, port, tls, log }: ChannelServerOptions): Promise<ChannelServer> {
    const server = tls
      ? createTlsServer({ ...tls, handshakeTimeout: HANDSHAKE_MS })
      : createServer({ pauseOnConnect: true });
    const own = new ChannelServer(server, log);
    if (tls) {
      server.on("connection", (socket: Socket) => own.greet(socket));
      server.on("secureConnection", (socket: Socket) => void own.meet(socket, new TcpChannel(socket)));
      server.on("tlsClientError", ({ message }: Error, socket: Socket) => {
        own.refuse(endOf(socket), message);
        // Node leaves one open whose handshake takes too long.
        socket.destroy();
      });
    } else {
      server.on("connection", (accepted: Socket) => {
        const [socket, channel] = readInPlace(accepted);
        own.greet(socket);
        void own.meet(socket, channel);
      });
    }
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
    const strangers = [...this.strangers.values()];
    this.strangers.clear();
    for (const socket of strangers) socket.destroy();
  }

  /** Counts a newcomer among the strangers. Where they are too many, the oldest goes: one that belongs here takes no time. */
  private greet(socket: Socket): void {
    const end = endOf(socket);
    if (this.strangers.size >= MAX_STRANGERS + this.awaited.size) {
      const [oldest, held] = this.strangers.entries().next().value!;
      this.refuse(oldest, `it has not said who it is, and ${this.strangers.size} more wait to`);
      held.destroy();
    }
    this.strangers.set(end, socket);
    socket.once("close", () => {
      if (this.strangers.get(end) === socket) this.strangers.delete(end);
    });
  }

  private async meet(socket: Socket, channel: TcpChannel): Promise<void> {
    const end = endOf(socket);
    // By TLS it has another socket now.
    if (this.strangers.has(end)) this.strangers.set(end, socket);
    try {
      const id = await receive(channel, (asked) => this.awaited.get(asked)?.secret);
      const { arrive } = this.awaited.get(id)!;
      this.awaited.delete(id);
      welcome(channel);
      arrive(channel);
    } catch (error) {
      channel.close("was refused", true);
      this.refuse(end, thrownText(error));
    } finally {
      this.strangers.delete(end);
    }
  }

  /** Tells of a stranger that is turned away, once. */
  private refuse(end: string, why: string): void {
    if (!this.strangers.delete(end)) return;
    this.refused += 1;
    const more = this.refused === MAX_TOLD ? " Further ones are not told of." : "";
    if (this.refused <= MAX_TOLD)
      this.log.warn(`Refused a connection from ${end.replace(/ \d+$/, "")}: ${why}.${more}`);
  }
}

/** Address and port of the other end. */
const endOf = ({ remoteAddress, remotePort }: Socket): string =>
  `${remoteAddress ?? "an address unknown"} ${remotePort}`;

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
