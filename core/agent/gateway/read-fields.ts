import { ApiError } from "./api-error.ts";
import { ruleOf, type EndpointName, type Treatment } from "./field-table.ts";
import { invalid, isFields, type Fields } from "./request-fields.ts";

/** A field that asks for what is counted. */
export interface NotedField {
  readonly field: string;
  readonly treatment: Exclude<Treatment, "served" | "refused"> | "unknown";
  readonly about: string;
}

/** The fields of a body that are to be counted. @throws ApiError for one that is refused */
export function readFields(body: Fields, endpoint: EndpointName): NotedField[] {
  const noted: NotedField[] = [];
  for (const [field, value] of Object.entries(body)) {
    if (value === undefined || value === null) continue;
    const rule = ruleOf(endpoint, field);
    if (rule === undefined) {
      noted.push({ field: field.slice(0, 60), treatment: "unknown", about: "" });
      continue;
    }
    const { treatment, about, neutral } = rule;
    if (treatment === "served" || neutral?.(value) === true) continue;
    if (treatment === "refused")
      throw new ApiError(400, `'${field}' is not served here: ${about}.`, "unsupported_parameter", field);
    noted.push({ field, treatment, about });
  }
  return noted;
}

/** Names that the gateway itself gives to the chat template. */
const OWN = ["messages", "tools", "add_generation_prompt", "addGenerationPrompt", "continue_final_message"];

/** Variables of the chat template that a request brings. @throws ApiError */
export function readTemplateVariables({ chat_template_kwargs: kwargs, reasoning_effort: effort }: Fields): Fields {
  if (effort !== undefined && effort !== null && typeof effort !== "string") {
    throw invalid("reasoning_effort", "it must be a text");
  }
  const given = kwargs ?? {};
  if (!isFields(given)) throw invalid("chat_template_kwargs", "it must be an object");
  const own = OWN.find((name) => Object.hasOwn(given, name));
  if (own !== undefined)
    throw invalid(`chat_template_kwargs.${own}`, "the gateway itself gives it to the chat template");
  return { ...(typeof effort === "string" ? { reasoning_effort: effort } : {}), ...given };
}
