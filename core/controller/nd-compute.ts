import { DataProto } from "../batch/data-proto.ts";
import { VerlError } from "../errors/index.ts";
import { DataProtoFuture } from "./data-proto-future.ts";
import type { DispatchFunctions, DispatchMode, DispatchTarget, RankArguments } from "./dispatch.ts";
import { joinBatches } from "./join-batches.ts";
import { shareArguments } from "./share-arguments.ts";
import type { MeshPlace } from "./worker.ts";

/**
 * Where the ranks stand: shares 0 to n − 1, each with one rank that answers for it.
 * @throws VERL_WORKER_MESH where rows would be lost or come back twice.
 */
async function placesIn(mesh: string, target: DispatchTarget): Promise<readonly MeshPlace[]> {
  const places = await target.mesh(mesh);
  const wrong = (what: string): VerlError =>
    new VerlError("VERL_WORKER_MESH", `In the mesh "${mesh}" of ${target.name} ${what}.`, {
      hint: "The ranks' dpRank are 0 to n - 1, and one rank of each has isCollect: see registerDispatchCollectInfo in the worker.",
      details: { mesh, places },
    });
  const odd = places.findIndex(({ dpRank }) => !(Number.isInteger(dpRank) && dpRank >= 0 && dpRank < places.length));
  if (odd >= 0) throw wrong(`rank ${odd} has the dpRank ${places[odd]!.dpRank}, of ${places.length} ranks`);
  const shares = Math.max(...places.map(({ dpRank }) => dpRank)) + 1;
  for (let share = 0; share < shares; share++) {
    const ranks = [...places.keys()].filter((rank) => places[rank]!.dpRank === share);
    if (ranks.length === 0) throw wrong(`no rank has the dpRank ${share}, though there are higher ones`);
    const answering = ranks.filter((rank) => places[rank]!.isCollect);
    if (answering.length === 1) continue;
    const who = answering.length === 0 ? "none of the ranks" : `the ranks ${answering.join(", ")}, not one,`;
    throw wrong(`${who} with the dpRank ${share} ${answering.length === 0 ? "gives" : "give"} its result`);
  }
  return places;
}

/** Each rank the share of its place in the mesh. */
async function dispatchOverMesh(
  mesh: string,
  target: DispatchTarget,
  args: readonly unknown[],
): Promise<RankArguments> {
  const places = await placesIn(mesh, target);
  const shares = Math.max(...places.map(({ dpRank }) => dpRank)) + 1;
  const lists = shareArguments(target, args, shares);
  return places.map(({ dpRank }) => lists[dpRank]!);
}

/** The results of the ranks that answer, in the order of their shares, and these ranks. */
async function collectOverMesh(
  mesh: string,
  target: DispatchTarget,
  outputs: readonly unknown[],
  ran: readonly number[],
): Promise<{ outputs: unknown[]; ranks: number[]; shareOf: number[] }> {
  const places = await placesIn(mesh, target);
  const answers = outputs
    .map((output, index) => ({ output, rank: ran[index]!, ...places[ran[index]!]! }))
    .filter(({ isCollect }) => isCollect)
    .sort((a, b) => a.dpRank - b.dpRank);
  return {
    outputs: answers.map(({ output }) => output),
    ranks: answers.map(({ rank }) => rank),
    shareOf: places.map(({ dpRank }) => dpRank),
  };
}

/**
 * Data parallelism over a device mesh of more than one dimension: ranks with the same `dpRank` get the same share of a batch, and one
 * of them gives the result. The ranks are asked where they stand at the first call (verl's `make_nd_compute_dataproto_dispatch_fn`).
 * @param mesh the name that the workers gave to `registerDispatchCollectInfo`: `actor`, `rollout`, `ref`, `critic`, `reward`, `train`.
 */
export function ndComputeDataProto(mesh: string): DispatchFunctions & Pick<DispatchMode, "joinsBatches"> {
  return {
    joinsBatches: true,
    dispatch: (target, args) => dispatchOverMesh(mesh, target, args),
    collect: async (target, results, args, ran) => {
      const { outputs, ...places } = await collectOverMesh(mesh, target, results, ran);
      return joinBatches(outputs, args, places);
    },
  };
}

/** As `ndComputeDataProto`, for results that are no batches: a list, one a share. */
export function ndCompute(mesh: string): DispatchFunctions {
  return {
    dispatch: async (target, args) =>
      args.some((arg) => arg instanceof DataProto || arg instanceof DataProtoFuture)
        ? dispatchOverMesh(mesh, target, args)
        : (await placesIn(mesh, target)).map(() => args),
    collect: async (target, outputs, _args, ran) => (await collectOverMesh(mesh, target, outputs, ran)).outputs,
  };
}
