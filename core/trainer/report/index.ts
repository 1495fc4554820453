export { writeRunFacts, type RunFacts } from "./run-facts.ts";
export { summarise } from "./summary.ts";
export { readReportData, writeReport } from "./write-report.ts";
