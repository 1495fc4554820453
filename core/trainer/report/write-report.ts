import { join, resolve } from "node:path";
import { writeFile } from "node:fs/promises";
import { VerlError } from "../../errors/verl-error.ts";
import { ROLLOUTS_FILE } from "../rollout-log/rollout-log.ts";
import { loadReportAssets } from "./report-assets.ts";
import { buildReportData, type ReportData } from "./report-data.ts";
import { renderReport } from "./render-report.ts";
import { readRunFacts } from "./run-facts.ts";
import { readMetrics, readRollouts } from "./run-files.ts";

/**
 * Reads what a run left, finished or not: `metrics.jsonl`, `rollouts.jsonl` and `run.json`.
 * @throws VERL_REPORT_RUN when the directory has no metrics.
 */
export async function readReportData(runDir: string): Promise<ReportData> {
  const metricsPath = join(runDir, "metrics.jsonl");
  const { records, brokenLines } = await readMetrics(metricsPath);
  if (records.length === 0) {
    throw new VerlError("VERL_REPORT_RUN", `${metricsPath} does not exist or holds no step.`, {
      hint: "Give the run's directory, trainer.default_local_dir; the first step writes there.",
      location: { file: metricsPath },
    });
  }
  return buildReportData({
    title: resolve(runDir).split(/[\\/]/).slice(-2).join("/"),
    records,
    rollouts: await readRollouts(join(runDir, ROLLOUTS_FILE)),
    facts: await readRunFacts(runDir),
    brokenLines,
  });
}

/** Writes `<run dir>/report.html`. @returns its path. */
export async function writeReport(runDir: string, data: ReportData): Promise<string> {
  const path = join(runDir, "report.html");
  await writeFile(path, renderReport(data, await loadReportAssets()));
  return path;
}
