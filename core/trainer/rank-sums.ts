import type { LossDenominators } from "../algorithm/loss-agg.ts";
import type { Peers } from "../controller/peers.ts";

/** Numbers by name, added up over the ranks; a name that a rank lacks counts as 0 there. The same bits on every rank. */
export async function sumNumbers(
  peers: Peers,
  numbers: Readonly<Record<string, number>>,
): Promise<Record<string, number>> {
  if (peers.worldSize === 1) return { ...numbers };
  const sums: Record<string, number> = {};
  for (const share of await peers.exchange(numbers)) {
    for (const [name, value] of Object.entries(share)) sums[name] = (sums[name] ?? 0) + value;
  }
  return sums;
}

/** Denominators of a mini-batch that lies on several ranks, from those of each one's rows. */
export async function sumDenominators(peers: Peers, own: LossDenominators): Promise<LossDenominators> {
  const { tokens, sequences } = own;
  return { ...own, ...(await sumNumbers(peers, { tokens, sequences })) };
}
