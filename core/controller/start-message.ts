import { sourceOf } from "./class-with-init-args.ts";
import { nothingLive, pack } from "./payload.ts";
import type { SentMessage } from "./rank-channel.ts";
import { PROTOCOL, type ToRank } from "./rank-protocol.ts";
import type { RankPlace } from "./resource-pool.ts";
import { rankEnv, type SpawnRequest } from "./transport.ts";

/** What tells a rank to load the plugins and construct its worker. @throws VERL_WORKER_PAYLOAD for arguments that cannot cross */
export function startMessage({ name, worker, pool, env, plugins }: SpawnRequest, place: RankPlace): SentMessage {
  const args = worker.parts.map((part) => part.args);
  const { packed, blobs } = pack(args, `a constructor argument of ${name}`, nothingLive);
  const head: ToRank = {
    type: "start",
    protocol: PROTOCOL,
    spec: {
      name,
      rank: place.rank,
      worldSize: pool.worldSize,
      localRank: place.localRank,
      localWorldSize: place.localWorldSize,
      env: { ...env, ...rankEnv(place, pool.worldSize) },
      plugins: [...plugins],
      parts: worker.parts.map((part) => ({ role: part.role, ...sourceOf(part) })),
    },
    args: packed,
  };
  return { head, blobs, what: `the arguments to construct ${name} with` };
}
