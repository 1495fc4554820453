import { VerlError, type DatasetRow, type Logger, type RowOrigin } from "verl";

/**
 * No row is scored against nothing unnoticed: all rows of a data source have a ground truth, or none, where that may be.
 * @param needed whether registered score functions compare answers with it.
 * @throws VerlError VERL_DATA_GROUND_TRUTH
 */
export function checkGroundTruths(
  rows: readonly { row: DatasetRow; origin: RowOrigin }[],
  needed: boolean,
  log: Logger,
): void {
  const has = ({ row }: { row: DatasetRow }): boolean => (row.reward_model?.ground_truth ?? null) !== null;
  const withTruth = new Set(rows.filter(has).map(({ row }) => row.data_source));
  const without = rows.filter((one) => !has(one));
  const hole = without.find(({ row }) => needed || withTruth.has(row.data_source));
  if (hole !== undefined) {
    const { row, file } = hole.origin;
    throw new VerlError(
      "VERL_DATA_GROUND_TRUTH",
      `Row ${row} has no \`reward_model.ground_truth\`; ${without.length} of ${rows.length} rows lack it.`,
      {
        location: { file },
        hint: needed
          ? "Registered score functions compare answers with it: add the column `reward_model` with the field `ground_truth`, or score by a function of your own (custom_reward_function.path)."
          : `Other rows of data_source "${hole.row.data_source}" have one: give every row of it a ground truth, or none.`,
        details: { row, without: without.length },
      },
    );
  }
  for (const source of new Set(without.map(({ row }) => row.data_source))) {
    log.warnOnce(
      `ground_truth/${source}`,
      `No row of data_source "${source}" has \`reward_model.ground_truth\`: the score function gets undefined for it.`,
    );
  }
}
