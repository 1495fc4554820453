import type { HostArray, HostKernel } from "./host-kernel.ts";

type Inputs = Readonly<Record<"rewards" | "values" | "mask", HostArray>>;

/** Advantages and returns of `gaeTensor`: each row once, from its end. */
export const gaeScan: HostKernel<Inputs, { gamma: number; lam: number }> = (inputs, { gamma, lam }, room) => {
  const { shape } = inputs.rewards;
  const [rows, width] = shape as [number, number];
  const [rewards, values, mask] = [inputs.rewards.values, inputs.values.values, inputs.mask.values];
  const [advantages, returns] = [room(rewards.length), room(rewards.length)];
  for (let row = 0; row < rows; row++) {
    let [next, advantage] = [0, 0];
    for (let at = (row + 1) * width - 1; at >= row * width; at--) {
      const on = mask[at]! > 0;
      if (on) {
        advantage = rewards[at]! + gamma * next - values[at]! + gamma * lam * advantage;
        next = values[at]!;
      }
      advantages[at] = on ? advantage : 0;
      returns[at] = on ? advantage + next : 0;
    }
  }
  return [advantages, returns].map((values) => ({ values, shape }));
};
