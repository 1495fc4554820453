import { VerlError } from "../../errors/verl-error.ts";
import { parseLosslessJson } from "../lossless-json.ts";
import { chatMessages } from "./chat-messages.ts";

/** What a template knows of its row: the columns, and `row_index`, its place from 0. */
export type Scope = Readonly<Record<string, unknown>>;

type Filter = (value: unknown, argument: string) => unknown;

const text = (value: unknown): string =>
  typeof value === "string" ? value : value === null || value === undefined ? "" : JSON.stringify(value);

/** What may stand behind a field: `{answer|after ####|trim}`. */
const FILTERS: Readonly<Record<string, Filter>> = {
  trim: (value) => text(value).trim(),
  lower: (value) => text(value).toLowerCase(),
  after: (value, mark) => {
    const whole = text(value);
    const at = whole.lastIndexOf(mark);
    if (at < 0) throw new Error(`has no "${mark}"`);
    return whole.slice(at + mark.length);
  },
  before: (value, mark) => {
    const whole = text(value);
    const at = whole.indexOf(mark);
    if (at < 0) throw new Error(`has no "${mark}"`);
    return whole.slice(0, at);
  },
  without: (value, part) => text(value).replaceAll(part, ""),
  number: (value) => {
    const number = Number(text(value).trim());
    if (text(value).trim() === "" || !Number.isFinite(number)) throw new Error("is no number");
    return number;
  },
  text,
  json: (value) => parseLosslessJson(text(value)),
  messages: (value) => chatMessages(value),
};

const FIELD = /\{\{|\}\}|\{([^{}]*)\}/g;

/**
 * A value of the mapping with its fields filled in: `{question}` in a text, the field's own value where a text is nothing else, lists
 * and maps item by item. `{{` and `}}` stand for braces.
 * @throws VerlError VERL_DATA_MAPPING, without the row.
 */
export function fill(template: unknown, scope: Scope): unknown {
  if (typeof template === "string") return fillText(template, scope);
  if (Array.isArray(template)) return template.map((item) => fill(item, scope));
  if (typeof template === "object" && template !== null)
    return Object.fromEntries(Object.entries(template).map(([key, value]) => [key, fill(value, scope)]));
  return template;
}

function fillText(template: string, scope: Scope): unknown {
  const whole = /^\{([^{}]*)\}$/.exec(template);
  if (whole !== null) return lookUp(whole[1]!, scope);
  return template.replace(FIELD, (token, field?: string) =>
    field === undefined ? token[0]! : text(lookUp(field, scope)),
  );
}

function lookUp(field: string, scope: Scope): unknown {
  const [path = "", ...filters] = field.split("|").map((part) => part.trim());
  let value: unknown = scope;
  for (const key of path.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) throw unknownField(path, scope);
    value = (value as Record<string, unknown>)[key];
  }
  for (const filter of filters) {
    const [name = "", ...rest] = filter.split(" ");
    if (!Object.hasOwn(FILTERS, name)) {
      throw new VerlError("VERL_DATA_MAPPING", `There is no filter "${name}" in {${field}}.`, {
        hint: `The filters are ${Object.keys(FILTERS).join(", ")}.`,
      });
    }
    try {
      value = FILTERS[name]!(value, rest.join(" "));
    } catch (cause) {
      throw new VerlError("VERL_DATA_MAPPING", `The field "${path}" ${(cause as Error).message}, for {${field}}.`, {
        cause,
        hint: "Mend the row, or the mapping.",
      });
    }
  }
  return value;
}

const unknownField = (path: string, scope: Scope): VerlError =>
  new VerlError("VERL_DATA_MAPPING", `The row has no field "${path}".`, {
    hint: `Its fields are ${Object.keys(scope).join(", ")}.`,
  });
