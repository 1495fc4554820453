import {
  isVerlError,
  loadScoreFunctions,
  type CustomRewardFunction,
  type DatasetRow,
  type Logger,
  type RowOrigin,
} from "verl";

/**
 * Warns of data sources whose rows no registered score function can score, before answers to them have been sampled. It is no error:
 * agent loops may score their rows themselves.
 */
export async function warnOfUnscorable(
  rows: readonly { row: DatasetRow; origin: RowOrigin }[],
  config: CustomRewardFunction,
  log: Logger,
): Promise<void> {
  const functions = await loadScoreFunctions(config, process.cwd());
  const first = new Map<string, RowOrigin>();
  for (const { row, origin } of rows) if (!first.has(row.data_source)) first.set(row.data_source, origin);
  for (const [source, { file, row }] of first) {
    try {
      functions.get(source);
    } catch (error) {
      if (!isVerlError(error)) throw error;
      log.warnOnce(
        `score_function/${source}`,
        `${error.message} The first is row ${row} of ${file}; the run ends when it has to score one. ${error.hint ?? ""}`.trim(),
      );
    }
  }
}
