import { checkMachines } from "../config/check-machines.ts";
import type { PpoConfig, SftConfig } from "../config/index.ts";
import { knownValues } from "../config/known-values.ts";
import { VerlError } from "../errors/index.ts";

/** Refuses a config of several machines that its transport does not reach. @throws VERL_CONFIG_VALUE */
export function requireMachines(config: PpoConfig | SftConfig): void {
  const [problem] = checkMachines(knownValues(config), (path) => ({ path }));
  if (problem) throw new VerlError(problem.code, problem.message, problem);
}
