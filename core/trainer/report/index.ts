export { writeRunFacts, type RunFacts } from "./run-facts.ts";
export { writeReport } from "./write-report.ts";
