import { groupStatistics as statistics } from "verl";
import type { HostArray, HostKernel } from "./host-kernel.ts";

interface Inputs {
  /** [rows]. */
  readonly values: HostArray;
  /** [rows], negative for rows that take no part. */
  readonly groups: HostArray<Int32Array>;
}

/** Mean, standard deviation and size of each group: the function that advantages are compared by, and 0 for groups without rows. */
export const groupStatistics: HostKernel<Inputs, { count: number }> = ({ values, groups }, { count }, room) => {
  const sizes = new Int32Array(count);
  for (const group of groups.values) if (group >= 0) sizes[group]!++;
  const { mean, std } = statistics(values.values, { of: groups.values, sizes });
  const outputs = [mean, std, sizes].map((numbers) => ({ values: room(count), numbers }));
  for (const { values, numbers } of outputs) {
    for (let group = 0; group < count; group++) values[group] = sizes[group] === 0 ? 0 : numbers[group]!;
  }
  return outputs.map(({ values }) => ({ values, shape: [count] }));
};
