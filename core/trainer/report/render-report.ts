import type { ReportData } from "./report-data.ts";

/** Texts of the files that make up the page. */
export interface ReportAssets {
  page: string;
  style: string;
  scripts: readonly string[];
  chartStyle: string;
  chartScript: string;
  chartLicense: string;
}

/** The page as one file that asks the network for nothing. Texts of models reach it as JSON data and are shown as text, never as markup. */
export function renderReport(data: ReportData, assets: ReportAssets): string {
  const slots: Readonly<Record<string, string>> = {
    head: [
      `<title>${escapeHtml(data.title)} · verl</title>`,
      `<!-- Charts: uPlot.\n${assets.chartLicense.trim()}\n-->`,
      `<style>${assets.chartStyle}\n${assets.style}</style>`,
    ].join("\n"),
    scripts: [
      `<script type="application/json" id="data">${embedJson(data)}</script>`,
      `<script>${assets.chartScript}</script>`,
      `<script>(() => {\n"use strict";\n${assets.scripts.join("\n")}\n})();</script>`,
    ].join("\n"),
  };
  return assets.page.replace(/<!-- slot: (\w+) -->/g, (_, name: string) => slots[name]!);
}

/** JSON for a `<script type="application/json">`: no `<` is left that could end or open anything. */
export function embedJson(value: unknown): string {
  return JSON.stringify(value).replaceAll("<", "\\u003c");
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
