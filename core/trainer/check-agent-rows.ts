import { agentOf, type AgentParts } from "../agent/index.ts";
import type { Dataset, DatasetRow } from "../data/dataset.ts";
import { isVerlError, VerlError } from "../errors/index.ts";

/** Milliseconds that the rows of a dataset may take: one whose rows are costly is looked at as far as this goes. */
const LIMIT_MS = 5000;

/**
 * Finds rows that their agent loops cannot run, before anything is sampled. What is not found here is found when the row is drawn.
 * @param name of the dataset, for messages: `training`
 * @throws VerlError of the first such row, which it names
 */
export async function checkAgentRows(
  dataset: Pick<Dataset, "length" | "row">,
  name: string,
  agents: AgentParts,
  defaultLoop: string,
): Promise<void> {
  const classes = new Map<string, ReturnType<AgentParts["loopClass"]>>();
  const classOf = (row: DatasetRow) => {
    const agent = agentOf(row, defaultLoop);
    let found = classes.get(agent);
    if (found === undefined) classes.set(agent, (found = agents.loopClass(agent)));
    return found;
  };
  const until = performance.now() + LIMIT_MS;
  for (let index = 0; index < dataset.length; index++) {
    if (performance.now() > until) return;
    const row = dataset.row(index);
    try {
      const checking = classOf(row).checkRow?.(row, agents);
      if (checking) await checking;
    } catch (error) {
      if (!isVerlError(error)) throw error;
      const own = row.index === index ? "" : ` (index ${JSON.stringify(row.index)})`;
      throw new VerlError(error.code, `${error.message} It is row ${index}${own} of the ${name} data.`, {
        hint: error.hint,
        location: error.location,
        cause: error,
        details: { ...error.details, row: index },
      });
    }
  }
}
