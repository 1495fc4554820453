import type { DataProto } from "../batch/data-proto.ts";
import { VerlError } from "../errors/index.ts";
import { countGroups, judgeGroups, type GroupCounts } from "./filter-groups-judge.ts";
import { groupMetric } from "./filter-groups-metric.ts";
import type { StepMetrics } from "./metrics/step-metrics.ts";
import { drawAnswers, score, type Sampled } from "./ppo-phases.ts";
import type { RewardColumns } from "./ppo-rewards.ts";
import type { PpoRun } from "./ppo-run.ts";
import { joinAnswers } from "./ppo-validation.ts";

/** Runs a part of the step under its name. */
type Phase = <T>(name: string, work: () => Promise<T>) => Promise<T>;

/**
 * Dynamic sampling of DAPO: answers prompts, leaves out the groups whose answers are all worth the same, and goes on with further
 * prompts until `data.train_batch_size` groups are kept. What is kept beyond that is left out too, as in verl's recipe. A step may thus
 * take several batches of the loader.
 *
 * Metrics: `train/num_gen_batches`, `filter_groups/sampled|kept|all_0|all_1|all_same|unscored|surplus`, in groups.
 * @throws VERL_TRAIN_GROUPS_EXHAUSTED after `max_num_gen_batches` batches; the reason of `run.stop` when the run is asked to stop between two batches.
 */
export async function sampleGroups(run: PpoRun, step: number, metrics: StepMetrics, phase: Phase): Promise<Sampled> {
  const { data, algorithm } = run.config;
  const wanted = data.train_batch_size;
  const limit = algorithm.filter_groups.max_num_gen_batches;
  const rounds: Required<Sampled>[] = [];
  let counts = countGroups([]);
  for (let round = 1; ; round++) {
    const drawn = await phase("gen", () => drawAnswers(run, step, metrics, round));
    const { batch, columns } = await phase("reward", () => score(run, drawn.batch, drawn.scoring, undefined, metrics));
    const judged = judgeGroups(batch.column("uid"), await groupMetric(run, batch, columns));
    const kept = judged.filter(({ verdict }) => verdict === "kept").slice(0, wanted - counts.kept);
    counts = countGroups(judged, counts);
    rounds.push(takeGroups({ ...drawn, batch, parts: columns.parts }, new Set(kept.map(({ uid }) => uid))));
    if (counts.kept >= wanted) break;
    if (limit > 0 && round >= limit) throw exhausted(step, round, wanted, counts);
    run.stop.throwIfAborted();
    run.console.logger.info(
      `Step ${step}: ${counts.kept} of ${wanted} groups after ${round} generation batches (${describe(counts)}). Going on.`,
    );
  }
  metrics.add("train/num_gen_batches", rounds.length);
  for (const [name, count] of Object.entries({ ...counts, surplus: Math.max(counts.kept - wanted, 0) })) {
    metrics.add(`filter_groups/${name}`, count);
  }
  return join(rounds);
}

/** The groups of the given uids. */
function takeGroups(all: Required<Sampled>, uids: ReadonlySet<unknown>): Required<Sampled> {
  const rowsOf = (part: DataProto): number[] => part.column("uid").flatMap((uid, row) => (uids.has(uid) ? [row] : []));
  const rows = rowsOf(all.batch);
  return {
    ...all,
    prompts: all.prompts.index(rowsOf(all.prompts)),
    batch: all.batch.index(rows),
    parts: pickParts(all.parts, rows),
  };
}

function join(rounds: readonly Required<Sampled>[]): Sampled {
  const names = new Set(rounds.flatMap(({ parts }) => Object.keys(parts)));
  const column = (name: string) =>
    rounds.flatMap(({ parts, batch }) => parts[name] ?? new Array<unknown>(batch.length).fill(null));
  return {
    ...rounds.at(-1)!,
    prompts: joinAnswers(rounds.map(({ prompts }) => prompts)),
    batch: joinAnswers(rounds.map(({ batch }) => batch)),
    parts: Object.fromEntries([...names].map((name) => [name, column(name)])),
  };
}

/** The parts of the given rows, in their order. */
function pickParts(parts: RewardColumns["parts"], rows: ArrayLike<number>): RewardColumns["parts"] {
  const picked = (values: readonly unknown[]) => Array.from(rows, (row) => values[row]);
  return Object.fromEntries(Object.entries(parts).map(([name, values]) => [name, picked(values)]));
}

function describe({ sampled, all_0, all_1, all_same, unscored }: GroupCounts): string {
  const share = (count: number): string => `${((100 * count) / sampled).toFixed(1)} %`;
  const others = [
    all_same > 0 ? `, all alike otherwise ${share(all_same)}` : "",
    unscored > 0 ? `, without scores ${share(unscored)}` : "",
  ];
  return `of ${sampled} sampled: all 0 ${share(all_0)}, all 1 ${share(all_1)}${others.join("")}`;
}

function exhausted(step: number, batches: number, wanted: number, counts: GroupCounts): VerlError {
  return new VerlError(
    "VERL_TRAIN_GROUPS_EXHAUSTED",
    `Step ${step} kept ${counts.kept} of the ${wanted} groups that it needs after ${batches} generation batches (${describe(counts)}).`,
    {
      location: { path: "algorithm.filter_groups.max_num_gen_batches" },
      hint: "Groups of equal answers teach nothing: look for harder or easier prompts, or sample more answers a prompt (actor_rollout_ref.rollout.n). A higher max_num_gen_batches tries longer, 0 without end.",
      details: { batches, wanted, ...counts },
    },
  );
}
