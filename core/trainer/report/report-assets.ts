import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { VerlError } from "../../errors/verl-error.ts";
import type { ReportAssets } from "./render-report.ts";

/** Scripts of the page, in the order in which they use one another. */
const SCRIPTS = ["dom.js", "charts.js", "rollouts.js", "facts.js", "page.js"] as const;

/** Beside this file in the sources; `dist/report` in the package, seen from `dist` or from `dist/chunks`. */
const FOLDERS = ["./assets/", "./report/", "../report/"] as const;

export async function loadReportAssets(): Promise<ReportAssets> {
  const folder = FOLDERS.map((path) => new URL(path, import.meta.url)).find((url) =>
    existsSync(new URL("page.html", url)),
  );
  if (!folder) throw new VerlError("VERL_INTERNAL", "The files of the report page are missing from the package.");
  const own = (name: string) => readFile(new URL(name, folder), "utf8");
  const chart = (name: string, source: string) => readFile(chartFile(folder, name, source), "utf8");
  const [page, style, chartStyle, chartScript, chartLicense, ...scripts] = await Promise.all([
    own("page.html"),
    own("page.css"),
    chart("uPlot.min.css", "dist/uPlot.min.css"),
    chart("uPlot.iife.min.js", "dist/uPlot.iife.min.js"),
    chart("uPlot.LICENSE", "LICENSE"),
    ...SCRIPTS.map(own),
  ]);
  return { page, style, chartStyle, chartScript, chartLicense, scripts };
}

/** A file of the chart library: the build puts it beside the page's files; in the sources it lies in node_modules. */
function chartFile(folder: URL, name: string, source: string): string {
  const built = fileURLToPath(new URL(name, folder));
  if (existsSync(built)) return built;
  const library = dirname(createRequire(import.meta.url).resolve("uplot/package.json"));
  return `${library}/${source}`;
}
