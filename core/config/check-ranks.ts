import type { ErrorLocation } from "../errors/index.ts";
import { MAX_PLACES } from "./max-places.ts";
import type { Problem } from "./problem.ts";
import type { PpoConfig, SftConfig } from "./schema/index.ts";

type Locate = (path: string) => ErrorLocation;

/** Pools of more ranks than one can have. */
export function checkRanks(config: PpoConfig, locate: Locate): Problem[] {
  const { controller, actor_rollout_ref: policy } = config;
  const { nnodes, n_gpus_per_node: ranks, agent } = policy.rollout;
  const further = Object.entries(controller.resource_pool_spec).map(
    ([pool, machines]) => ["controller.resource_pool_spec", sumOf(machines), ` to the pool "${pool}"`] as const,
  );
  return [
    ...checkTrainerRanks(config, locate),
    ...problems(
      [
        ["actor_rollout_ref.rollout.n_gpus_per_node", policy.hybrid_engine ? 0 : nnodes * ranks, " to the rollout"],
        ["actor_rollout_ref.rollout.agent.num_workers", agent.num_workers ?? 0, " to agent loops"],
        ...further,
      ],
      locate,
    ),
  ];
}

/** The same for `verl sft`. */
export const checkTrainerRanks = ({ trainer }: Pick<PpoConfig | SftConfig, "trainer">, locate: Locate): Problem[] =>
  problems([["trainer.n_gpus_per_node", trainer.nnodes * trainer.n_gpus_per_node, ""]], locate);

type Asked = readonly [path: string, ranks: number, whose: string];

const problems = (asked: readonly Asked[], locate: Locate): Problem[] =>
  asked
    .filter(([, ranks]) => ranks > MAX_PLACES)
    .map(([path, ranks, whose]) => ({
      code: "VERL_CONFIG_VALUE",
      message: `\`${path}\` gives ${ranks} ranks${whose}, and a pool has at most ${MAX_PLACES}.`,
      hint: "A rank is a thread or process of its own.",
      location: locate(path),
    }));

/** Ranks on all machines; 0 for what is no list of them, which is told elsewhere. */
const sumOf = (machines: unknown): number =>
  Array.isArray(machines) ? machines.reduce<number>((sum, ranks) => sum + Number(ranks), 0) : 0;
