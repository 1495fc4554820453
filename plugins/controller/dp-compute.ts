import { VerlError, type DispatchMode } from "verl";

export const dpCompute: DispatchMode = {
  description:
    "Takes lists with one element a rank and gives each rank its own; results come back as a list, one a rank.",
  dispatch({ name, worldSize }, args) {
    for (const [index, arg] of args.entries()) {
      if (Array.isArray(arg) && arg.length === worldSize) continue;
      const got = Array.isArray(arg) ? `a list of ${arg.length}` : typeof arg;
      throw new VerlError(
        "VERL_DISPATCH_ARGUMENTS",
        `Argument ${index + 1} of a DP_COMPUTE call to ${name} is ${got}.`,
        {
          hint: `Pass a list with one element for each of the ${worldSize} ranks.`,
        },
      );
    }
    const lists = args as readonly (readonly unknown[])[];
    return Array.from({ length: worldSize }, (_, rank) => lists.map((list) => list[rank]));
  },
  collect: (_target, outputs) => outputs,
};
