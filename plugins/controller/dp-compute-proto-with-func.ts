import { joinBatches, shareArguments, VerlError, type DispatchMode } from "verl";

export const dpComputeProtoWithFunc: DispatchMode = {
  description:
    "As DP_COMPUTE_PROTO after a first argument that is a function, which every rank gets; rows must divide. Only where ranks share the caller's thread.",
  joinsBatches: true,
  dispatch(target, args) {
    const [work, ...rest] = args;
    if (typeof work !== "function") {
      throw new VerlError(
        "VERL_DISPATCH_ARGUMENTS",
        `The first argument of a DP_COMPUTE_PROTO_WITH_FUNC call to ${target.name} is a ${typeof work}.`,
        { hint: "Pass the function that each rank runs, then the batches." },
      );
    }
    return shareArguments(target, rest, target.worldSize, { pad: false }).map((list) => [work, ...list]);
  },
  collect: ({ worldSize }, outputs, args, ranks) =>
    joinBatches(outputs, args, { ranks, shareOf: Array.from({ length: worldSize }, (_, rank) => rank) }),
};
