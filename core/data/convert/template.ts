import { VerlError } from "../../errors/verl-error.ts";
import { describeValue } from "../columns.ts";
import { parseLosslessJson } from "../lossless-json.ts";
import { chatMessages } from "./chat-messages.ts";

/** What a template knows of its row: the columns, and `row_index`, its place from 0. */
export type Scope = Readonly<Record<string, unknown>>;

/** A template with a row's fields filled in. @throws VerlError VERL_DATA_MAPPING, without the row. */
export type Fill = (scope: Scope) => unknown;

interface Filter {
  apply: (value: unknown, argument: string) => unknown;
  /** It needs something behind its name: `after ####`. */
  takes?: "argument";
}

const text = (value: unknown): string =>
  typeof value === "string" ? value : value === null || value === undefined ? "" : JSON.stringify(value);

/** What may stand behind a field: `{answer|after ####|trim}`. */
const FILTERS: Readonly<Record<string, Filter>> = {
  trim: { apply: (value) => text(value).trim() },
  lower: { apply: (value) => text(value).toLowerCase() },
  after: {
    takes: "argument",
    apply(value, mark) {
      const whole = text(value);
      const at = whole.lastIndexOf(mark);
      if (at < 0) throw new Error(`has no "${mark}"`);
      return whole.slice(at + mark.length);
    },
  },
  before: {
    takes: "argument",
    apply(value, mark) {
      const whole = text(value);
      const at = whole.indexOf(mark);
      if (at < 0) throw new Error(`has no "${mark}"`);
      return whole.slice(0, at);
    },
  },
  without: { takes: "argument", apply: (value, part) => text(value).replaceAll(part, "") },
  number: {
    apply(value) {
      const digits = text(value).trim();
      const number = Number(digits);
      if (digits === "" || !Number.isFinite(number)) throw new Error(`is no number but ${describeValue(value)}`);
      return /^-?\d{16,}$/.test(digits) && !Number.isSafeInteger(number) ? BigInt(digits) : number;
    },
  },
  text: { apply: text },
  json: {
    apply(value) {
      try {
        return parseLosslessJson(text(value));
      } catch (cause) {
        throw new Error(`is no JSON: ${(cause as Error).message}`, { cause });
      }
    },
  },
  messages: { apply: (value) => chatMessages(value) },
};

/** A field in braces, or two braces that stand for one; a brace alone is neither. */
const PIECE = /\{\{|\}\}|\{([^{}]*)\}|[{}]/g;

/**
 * Reads a value of the mapping: `{question}` in a text is a field, a text that is nothing else keeps the field's own value, lists and maps
 * are filled item by item. `{{` and `}}` stand for braces.
 * @throws VerlError VERL_DATA_MAPPING for a brace that has no partner, and a filter that there is not.
 */
export function compileTemplate(template: unknown): Fill {
  if (typeof template === "string") return compileText(template);
  if (Array.isArray(template)) {
    const items = template.map(compileTemplate);
    return (scope) => items.map((fill) => fill(scope));
  }
  if (typeof template === "object" && template !== null) {
    const fields = Object.entries(template).map(([key, value]) => [key, compileTemplate(value)] as const);
    return (scope) => Object.fromEntries(fields.map(([key, fill]) => [key, fill(scope)]));
  }
  return () => template;
}

function compileText(template: string): Fill {
  const whole = /^\{([^{}]*)\}$/.exec(template);
  if (whole !== null) return compileField(whole[1]!);
  const parts: (string | Fill)[] = [];
  let end = 0;
  for (const { 0: piece, 1: field, index } of template.matchAll(PIECE)) {
    parts.push(template.slice(end, index));
    end = index + piece.length;
    if (field !== undefined) parts.push(compileField(field));
    else if (piece.length === 2) parts.push(piece[0]!);
    else throw loneBrace(template, piece);
  }
  parts.push(template.slice(end));
  return (scope) => parts.map((part) => (typeof part === "string" ? part : text(part(scope)))).join("");
}

function compileField(field: string): Fill {
  const [path = "", ...names] = field.split("|").map((part) => part.trim());
  const keys = path.split(".");
  const filters = names.map((name) => compileFilter(name, field));
  return (scope) => {
    let value: unknown = scope;
    for (const key of keys) {
      if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) throw unknownField(path, scope);
      value = (value as Record<string, unknown>)[key];
    }
    try {
      return filters.reduce((filtered, filter) => filter(filtered), value);
    } catch (cause) {
      throw new VerlError("VERL_DATA_MAPPING", `The field "${path}" ${(cause as Error).message}, for {${field}}.`, {
        cause,
        hint: "Mend the row, or the mapping.",
      });
    }
  };
}

function compileFilter(written: string, field: string): (value: unknown) => unknown {
  const [name = "", ...rest] = written.split(" ");
  const argument = rest.join(" ");
  const filter = Object.hasOwn(FILTERS, name) ? FILTERS[name]! : undefined;
  if (filter === undefined) {
    throw new VerlError("VERL_DATA_MAPPING", `There is no filter "${name}" in {${field}}.`, {
      hint: `The filters are ${Object.keys(FILTERS).join(", ")}.`,
    });
  }
  if ((filter.takes === "argument") !== (argument !== "")) {
    const needs = filter.takes === "argument" ? "needs a text behind it" : "takes nothing behind it";
    throw new VerlError("VERL_DATA_MAPPING", `The filter "${name}" ${needs}, in {${field}}.`, {
      hint: "For example {answer|after ####|trim}.",
    });
  }
  return (value) => filter.apply(value, argument);
}

const loneBrace = (template: string, brace: string): VerlError =>
  new VerlError("VERL_DATA_MAPPING", `The text ${JSON.stringify(template)} has a ${brace} without its partner.`, {
    hint: "A field stands in braces, {question}; {{ and }} stand for braces themselves.",
  });

const unknownField = (path: string, scope: Scope): VerlError =>
  new VerlError("VERL_DATA_MAPPING", `The row has no field "${path}".`, {
    hint: `Its fields are ${Object.keys(scope).join(", ")}.`,
  });
