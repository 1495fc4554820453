import { VerlError, type DispatchMode, type DispatchTarget } from "verl";

export const directRolloutMethod: DispatchMode = {
  description: "Marks methods that a rollout server calls on a rank by itself; a call through the group is refused.",
  dispatch: (target) => {
    throw refusal(target);
  },
  collect: (target) => {
    throw refusal(target);
  },
};

function refusal({ name }: DispatchTarget): VerlError {
  return new VerlError("VERL_DISPATCH_ARGUMENTS", `A DIRECT_ROLLOUT_METHOD of ${name} was called through its group.`, {
    hint: "Call it on one rank: executeRankZeroAsync(method, …).",
  });
}
