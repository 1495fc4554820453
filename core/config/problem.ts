import { VerlError, type ErrorCode, type ErrorLocation } from "../errors/index.ts";

/** One thing that is wrong with a config. */
export interface Problem {
  readonly code: ErrorCode;
  /** What is wrong, with the value. */
  readonly message: string;
  /** What is allowed or nearest, and what to do. */
  readonly hint?: string;
  readonly location: ErrorLocation;
  /** What a plugin's code threw; it shows where. */
  readonly cause?: unknown;
}

/** Texts of the config files that were read, by path as written; code frames quote them. */
export type Sources = ReadonlyMap<string, string>;

const SHOWN = 10;
const FRAME_WIDTH = 160;

/**
 * All problems as one error. A single problem keeps its own code, several go under VERL_CONFIG_INVALID; `details.problems` holds each
 * with its code, message, hint and location, and no cause: they are plain data.
 */
export function problemsError(problems: readonly Problem[], sources: Sources): VerlError {
  const [first] = problems;
  const details = { problems: problems.map(({ cause: _, ...plain }) => plain) };
  if (first !== undefined && problems.length === 1) {
    const { code, message, ...more } = first;
    return new VerlError(code, [message, ...frame(first.location, sources)].join("\n"), { ...more, details });
  }
  const shown = problems.slice(0, SHOWN).map((problem, index) => entry(problem, index + 1, sources));
  const more = problems.length > SHOWN ? [`… and ${problems.length - SHOWN} more.`] : [];
  return new VerlError(
    "VERL_CONFIG_INVALID",
    [`The config has ${problems.length} problems; nothing was started.`, ...shown, ...more].join("\n\n"),
    { details },
  );
}

/** `run.yaml:12:18`, the override's text, or the plugin; empty for a default. */
export function place({ file, line, column, override, plugin }: ErrorLocation): string {
  if (override !== undefined) return `override ${override}`;
  if (file !== undefined) return line === undefined ? file : `${file}:${line}:${column ?? 1}`;
  return plugin ?? "";
}

function entry({ code, message, hint, location }: Problem, number: number, sources: Sources): string {
  const head = [`${number}.`, place(location), location.path, `[${code}]`].filter(Boolean).join("  ");
  return [head, message, ...frame(location, sources), ...(hint === undefined ? [] : hint.split("\n"))]
    .map((line, index) => (index === 0 ? line : `   ${line}`))
    .join("\n");
}

/** The lines around a place in a file, with a caret under the column; the override's text when the place is in one. */
function frame({ file, line, column, override }: ErrorLocation, sources: Sources): string[] {
  if (override !== undefined) {
    return column === undefined ? [] : [`  ${override}`, `  ${" ".repeat(column - 1)}^`];
  }
  const text = file === undefined ? undefined : sources.get(file);
  if (text === undefined || line === undefined) return [];
  const lines = text.split(/\r?\n/);
  const width = String(line + 1).length;
  const numbered = (number: number) =>
    `${number === line ? ">" : " "} ${String(number).padStart(width)} | ${lines[number - 1]!.slice(0, FRAME_WIDTH)}`.trimEnd();
  const framed = [line - 1, line, line + 1]
    .filter((number) => number >= 1 && number <= lines.length)
    .map((number) => [numbered(number)]);
  const caret = `  ${" ".repeat(width)} | ${" ".repeat((column ?? 1) - 1)}^`;
  const at = line > 1 ? 1 : 0;
  if ((column ?? 1) <= FRAME_WIDTH) framed[at]?.push(caret);
  return framed.flat();
}
