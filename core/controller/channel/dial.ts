import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { introduce } from "./handshake.ts";
import { ReadInPlace } from "./onread.ts";
import { TcpChannel } from "./tcp-channel.ts";

/** Everything that a process needs to reach its controller. */
export interface Link {
  readonly host: string;
  readonly port: number;
  /** What the dialer is waited for as. */
  readonly id: string;
  /** Known to the controller and this dialer alone. */
  readonly secret: string;
  /** The controller's certificate in PEM, which alone is trusted; absent: no TLS. */
  readonly certificate?: string;
}

/** Connects to the controller. @throws in words why that is not possible */
export async function dial({ host, port, id, secret, certificate }: Link): Promise<TcpChannel> {
  const channel = certificate === undefined ? await dialPlain(host, port) : await dialTls(host, port, certificate);
  try {
    await introduce(channel, id, secret);
    return channel;
  } catch (error) {
    channel.close("was refused", true);
    throw error;
  }
}

function dialPlain(host: string, port: number): Promise<TcpChannel> {
  return new Promise((resolve, reject) => {
    const reading = new ReadInPlace();
    const socket = connect({ host, port, onread: reading.onread }, () => {
      socket.off("error", reject);
      resolve(reading.feed(new TcpChannel(socket, true)));
    });
    socket.once("error", reject);
  });
}

function dialTls(host: string, port: number, certificate: string): Promise<TcpChannel> {
  return new Promise((resolve, reject) => {
    // The certificate is pinned, so the name in it says nothing more.
    const options = { host, port, ca: certificate, checkServerIdentity: () => undefined };
    const socket: Socket = connectTls(options, () => {
      socket.off("error", reject);
      resolve(new TcpChannel(socket));
    });
    socket.once("error", reject);
  });
}
