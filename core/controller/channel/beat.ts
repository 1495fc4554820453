import type { ChannelMessage } from "../rank-channel.ts";
import type { TcpChannel } from "./tcp-channel.ts";

const BEAT_MS = 1000;

/**
 * Sends a sign of life each second and counts the seconds without a word from the other end.
 * @param silentS says after how many `onSilent` is told, once. Time in which this process did not run does not count.
 * @param listener gets what the other end says, its signs of life among it.
 */
export function keepBeat(
  channel: TcpChannel,
  silentS: () => number,
  onSilent: (reason: string) => void,
  listener: (message: ChannelMessage) => void = () => undefined,
): void {
  let quiet = 0;
  const timer = setInterval(() => {
    void channel.send({ head: { type: "beat" }, blobs: [] });
    quiet += 1;
    if (quiet < silentS()) return;
    clearInterval(timer);
    onSilent(`could not be reached for ${quiet} s`);
  }, BEAT_MS);
  channel.onMessage((message) => {
    quiet = 0;
    listener(message);
  });
  channel.onLost(() => clearInterval(timer));
}
