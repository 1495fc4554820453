import { agentOf, type AgentLoop, type AgentParts } from "../agent/index.ts";
import type { Dataset, DatasetRow } from "../data/dataset.ts";
import { raceAbort } from "../controller/race-abort.ts";
import { isVerlError, VerlError } from "../errors/index.ts";
import { inNameOf } from "../registry/index.ts";
import { describeValue } from "../reward/sample-reward.ts";

/** Milliseconds that the rows of a dataset may take: one whose rows are costly is looked at as far as this goes. */
const LIMIT_MS = 5000;

/**
 * Finds rows that their agent loops cannot run, before anything is sampled. What is not found here is found when the row is drawn.
 * @param name of the dataset, for messages: `training`
 * @param stop ends the wait for a loop that is asked for a row
 * @throws VerlError of the first such row, which it names; VERL_ENTRY_FAILED where a loop's own check fails; the reason of `stop`
 */
export async function checkAgentRows(
  dataset: Pick<Dataset, "length" | "row">,
  name: string,
  agents: AgentParts,
  defaultLoop: string,
  stop: AbortSignal,
): Promise<void> {
  const classes = new Map<string, ReturnType<AgentParts["loopClass"]>>();
  const classOf = (row: DatasetRow) => {
    const agent = agentOf(row, defaultLoop);
    let found = classes.get(agent);
    if (found === undefined) classes.set(agent, (found = classNamed(agent, row, agents)));
    return found;
  };
  const until = performance.now() + LIMIT_MS;
  for (let index = 0; index < dataset.length; index++) {
    if (performance.now() > until) return;
    const row = dataset.row(index);
    try {
      const { key, loop } = classOf(row);
      const checking = inNameOf("agent_loop", key, () => ask(loop, row, agents));
      if (checking)
        await raceAbort(
          stop,
          inNameOf("agent_loop", key, async () => checking),
        );
    } catch (error) {
      if (!isVerlError(error) || error === stop.reason) throw error;
      const own = row.index === index ? "" : ` (index ${JSON.stringify(row.index)})`;
      throw new VerlError(
        error.code,
        `${error.message.replace(/[^.!?]$/, "$&.")} It is row ${index}${own} of the ${name} data.`,
        {
          hint: error.hint,
          location: error.location,
          cause: error,
          details: { ...error.details, row: index },
        },
      );
    }
  }
}

/** @throws of a name that a row gives and no loop has, with the row's field in place of the config's key */
function classNamed(agent: string, row: DatasetRow, agents: AgentParts): ReturnType<AgentParts["loopClass"]> {
  try {
    return agents.loopClass(agent);
  } catch (error) {
    if (!isVerlError(error) || error.code !== "VERL_REGISTRY_KEY_UNKNOWN" || row.agent_name == null) throw error;
    const { code, message, hint, details } = error;
    throw new VerlError(code, `A row's agent_name names no loop: ${message}`, { hint, details, cause: error });
  }
}

/** What a loop says of a row. */
function ask(loop: typeof AgentLoop, row: DatasetRow, agents: AgentParts): void | Promise<void> {
  const { checkRow } = loop as { checkRow?: unknown };
  if (checkRow === undefined) return;
  if (typeof checkRow !== "function") throw new TypeError(`its checkRow is ${describeValue(checkRow)}, not a function`);
  return loop.checkRow!(row, agents);
}
