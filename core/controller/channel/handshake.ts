import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { ChannelMessage } from "../rank-channel.ts";
import type { TcpChannel } from "./tcp-channel.ts";

/*
 * Both ends show that they know the secret without saying it:
 *   dialer → hello {protocol, id, nonce}; server → challenge {nonce, proof}; dialer → answer {proof}; server → welcome.
 */

/** Raised when the handshake or the frames change. */
const CHANNEL_PROTOCOL = 1;

const DEADLINE_MS = 10_000;
const NONCE = /^[0-9a-f]{32}$/;

const isNonce = (given: unknown): given is string => typeof given === "string" && NONCE.test(given);

/** A new secret or nonce of so many bytes. */
export const randomHex = (bytes: number): string => randomBytes(bytes).toString("hex");

/** `side` proves to the other that it knows the secret; the nonces of both make the proof worth nothing elsewhere. */
function proofOf(secret: string, side: "server" | "dialer", id: string, nonces: readonly string[]): string {
  return createHmac("sha256", secret)
    .update([side, id, ...nonces].join("\n"))
    .digest("hex");
}

function sameProof(given: unknown, expected: string): boolean {
  if (typeof given !== "string") return false;
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.byteLength === b.byteLength && timingSafeEqual(a, b);
}

/** The dialing side. @throws in words why the other end is not who it should be, or did not answer. */
export async function introduce(channel: TcpChannel, id: string, secret: string): Promise<void> {
  const nonce = randomHex(16);
  const read = reader(channel);
  say(channel, { type: "hello", protocol: CHANNEL_PROTOCOL, id, nonce });
  const challenge = await read();
  if (!isNonce(challenge["nonce"])) throw new Error("what answers at this address speaks another protocol");
  const nonces = [nonce, challenge["nonce"]];
  if (!sameProof(challenge["proof"], proofOf(secret, "server", id, nonces))) {
    throw new Error("the controller at this address does not know the secret: it is another one's");
  }
  // Its messages follow the welcome at once.
  channel.trust();
  say(channel, { type: "answer", proof: proofOf(secret, "dialer", id, nonces) });
  if ((await read())["type"] !== "welcome") throw new Error("the controller refused the connection");
}

/**
 * The listening side.
 * @param secretOf the secret of an id that is waited for. @returns the id. @throws in words why the dialer is refused
 */
export async function receive(channel: TcpChannel, secretOf: (id: string) => string | undefined): Promise<string> {
  const read = reader(channel);
  const hello = await read();
  const { id, nonce } = hello;
  if (hello["type"] !== "hello" || hello["protocol"] !== CHANNEL_PROTOCOL || typeof id !== "string" || !isNonce(nonce))
    throw new Error("it speaks another protocol");
  // One that is not waited for hears what one with a wrong secret hears.
  const secret = secretOf(id) ?? randomHex(32);
  const nonces = [nonce, randomHex(16)];
  say(channel, { type: "challenge", nonce: nonces[1]!, proof: proofOf(secret, "server", id, nonces) });
  const answer = await read().catch(() => {
    throw new Error("it hung up, since it has another secret or looks for another controller");
  });
  if (!sameProof(answer["proof"], proofOf(secret, "dialer", id, nonces)))
    throw new Error("it does not know the secret");
  if (secretOf(id) !== secret) throw new Error("it is connected already");
  channel.trust();
  return id;
}

/** Confirms to the dialer that it was taken. */
export const welcome = (channel: TcpChannel): void => say(channel, { type: "welcome" });

const say = (channel: TcpChannel, head: ChannelMessage["head"]): void => void channel.send({ head, blobs: [] });

/** Reads one message after the other, all of them within the deadline; what comes after the last that was asked for is left. */
function reader(channel: TcpChannel): () => Promise<ChannelMessage["head"]> {
  const end = Date.now() + DEADLINE_MS;
  return () =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error("it did not say who it is in time")), end - Date.now());
      channel.onMessage(({ head }) => {
        clearTimeout(timer);
        channel.pass();
        resolve(head);
      });
      channel.onClose((reason) => {
        clearTimeout(timer);
        reject(new Error(`it ${reason}`));
      });
    });
}
