import { DataProto } from "../batch/data-proto.ts";
import type { DispatchFunctions, DispatchMode, DispatchTarget, RankArguments } from "./dispatch.ts";
import { joinBatches, shareArguments } from "./share-arguments.ts";

/** Each rank the share of its place in the mesh. */
async function dispatchOverMesh(
  mesh: string,
  target: DispatchTarget,
  args: readonly unknown[],
): Promise<RankArguments> {
  const places = await target.mesh(mesh);
  const shares = Math.max(...places.map(({ dpRank }) => dpRank)) + 1;
  const lists = shareArguments(target, args, shares);
  return places.map(({ dpRank }) => lists[dpRank]!);
}

/** The results of the ranks that are collected, in the order of their shares. */
async function collectOverMesh(mesh: string, target: DispatchTarget, outputs: readonly unknown[]): Promise<unknown[]> {
  const places = await target.mesh(mesh);
  return outputs
    .map((output, rank) => ({ output, ...places[rank]! }))
    .filter(({ isCollect }) => isCollect)
    .sort((a, b) => a.dpRank - b.dpRank)
    .map(({ output }) => output);
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
    collect: async (target, outputs, args) => joinBatches(await collectOverMesh(mesh, target, outputs), args),
  };
}

/** As `ndComputeDataProto`, for results that are no batches: a list, one a share. */
export function ndCompute(mesh: string): DispatchFunctions {
  return {
    dispatch: (target, args) =>
      args.some((arg) => arg instanceof DataProto)
        ? dispatchOverMesh(mesh, target, args)
        : Array.from({ length: target.worldSize }, () => args),
    collect: (target, outputs) => collectOverMesh(mesh, target, outputs),
  };
}
