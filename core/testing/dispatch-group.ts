import { DataProto } from "../batch/data-proto.ts";
import { NdArray } from "../batch/nd-array.ts";
import type { DispatchMode, DispatchTarget, MeshPlace } from "../controller/index.ts";
import { isVerlError } from "../errors/index.ts";

/** Makes the arguments of a call that a mode takes. */
export type MakeArguments = (batch: DataProto, worldSize: number) => readonly unknown[];

/** A group without workers, for a dispatch mode to divide a call among. */
export interface TestedGroup extends DispatchTarget {
  /** Ranks whose results are taken, in the order in which they are: over a mesh, where the mode has asked for it, one a share. */
  answering(ran: number): number[];
}

/** A group of `shares` × `replicas` ranks; in its mesh neighbours have the same share, and the last of them answers. */
export function groupOf(shares: number, replicas: number): TestedGroup {
  let asked = false;
  const worldSize = shares * replicas;
  const places = Array.from({ length: worldSize }, (_, rank): MeshPlace => {
    return { dpRank: Math.floor(rank / replicas), isCollect: rank % replicas === replicas - 1 };
  });
  return {
    name: "testers",
    worldSize,
    mesh() {
      asked = true;
      return Promise.resolve(places);
    },
    answering: (ran) => [...Array(ran).keys()].filter((rank) => !asked || places[rank]!.isCollect),
  };
}

/** A batch of one number and one text a row. */
export const batchOf = (rows: readonly number[]): DataProto =>
  DataProto.fromSingleDict({
    number: new NdArray("int32", [rows.length, 1], Int32Array.from(rows)),
    place: rows.map((_, row) => `row ${row}`),
  });

const work = (): Promise<void> => Promise.resolve();

const USUAL: readonly MakeArguments[] = [
  (batch) => [batch],
  (_, worldSize) => [Array.from({ length: worldSize }, (_each, rank) => `for rank ${rank}`)],
  (batch) => [work, batch],
];

/** The author's arguments, or the first of the usual ones that the mode takes for a row a rank. */
export async function argumentsOf(
  mode: DispatchMode,
  given: MakeArguments | undefined,
  batch: DataProto,
  group: TestedGroup,
): Promise<readonly unknown[]> {
  if (given) return given(batch, group.worldSize);
  const sample = batchOf(new Array<number>(group.worldSize).fill(0));
  for (const make of USUAL) {
    try {
      await mode.dispatch(group, make(sample, group.worldSize));
      return make(batch, group.worldSize);
    } catch (error) {
      if (!isVerlError(error)) throw error;
    }
  }
  return USUAL[0]!(batch, group.worldSize);
}
