import { Worker as Thread } from "node:worker_threads";
import { dial, type Link } from "../channel/dial.ts";
import { CLOSED } from "../channel/tcp-channel.ts";
import { serveRank } from "../serve-rank.ts";
import { tellUncaught } from "../tell-uncaught.ts";
import { thrownText } from "../thrown-text.ts";
import type { BeatData } from "./ray-beat.ts";

/*
 * Entry of a rank's process in a cluster. The first line of its standard input says where the controller is; when its standard input
 * ends, whoever started it is gone.
 */

/** What the controller says on the first line. */
export interface RankLine {
  readonly link: Link;
  readonly beat: Link;
  readonly silentS: number;
}

function firstLine(): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    process.stdin.setEncoding("utf8").on("data", (part: string) => {
      text += part;
      const end = text.indexOf("\n");
      if (end >= 0) resolve(text.slice(0, end));
    });
    process.stdin.on("end", () => {
      reject(new Error("the standard input ended before it said where the controller is"));
      process.exit(1);
    });
  });
}

const { link, beat, silentS } = JSON.parse(await firstLine()) as RankLine;
const channel = await dial(link).catch((error: unknown) => {
  console.error(`This process cannot connect to the controller at ${link.host}:${link.port}: ${thrownText(error)}.`);
  process.exit(1);
});
tellUncaught(channel);
const beatData: BeatData = { link: beat, silentS };
const thread = new Thread(new URL("./ray-beat.js", import.meta.url), { name: "beat", workerData: beatData });
thread.unref();
// The rank does not go on without the thread that answers for it.
thread.on("error", (error) => {
  console.error(error);
  process.exit(1);
});
await serveRank(channel);
await channel.ended;
// Told with the process's last lines, for the connection itself tells nothing any more.
if (channel.reason !== CLOSED) console.error(`The controller ${channel.reason}.`);
// What the worker left open must not keep the process.
process.exit(channel.reason === CLOSED ? 0 : 1);
