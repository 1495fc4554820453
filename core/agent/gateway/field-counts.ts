import type { Logger } from "../../registry/logger.ts";
import type { NotedField } from "./read-fields.ts";
import type { SessionCounts } from "./session-counts.ts";

type Treatment = NotedField["treatment"];

/** Unknown fields that are told. */
const SHOWN = 10;

const COUNTS: Readonly<Record<Treatment, keyof SessionCounts>> = {
  prompt: "templateVariables",
  sampling: "samplingOverridden",
  form: "formsNotEnforced",
  unknown: "unknownFields",
};

/** Counts a request's fields, a request once a treatment, and tells of each that is not done as asked when it first comes. */
export function countFields(noted: readonly NotedField[], counts: SessionCounts, log?: Pick<Logger, "warnOnce">): void {
  for (const treatment of new Set(noted.map((one) => one.treatment))) counts[COUNTS[treatment]] += 1;
  for (const { treatment, field, about } of noted) {
    if (treatment !== "sampling" && treatment !== "form") continue;
    const what = treatment === "sampling" ? "The policy is sampled as the run says" : "The policy is not held to it";
    log?.warnOnce(
      `gateway_field:${field}`,
      `An agent's requests have '${field}'. ${what}: ${about}. Such requests are only counted.`,
    );
  }
  const unknown = noted.filter(({ treatment }) => treatment === "unknown").map(({ field }) => `'${field}'`);
  if (unknown.length === 0) return;
  log?.warnOnce(
    "gateway_unknown_field",
    `An agent's requests have ${unknown.slice(0, SHOWN).join(", ")}, which the gateway does not know and ignores. Such requests are only counted.`,
  );
}
