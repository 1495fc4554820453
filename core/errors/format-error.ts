import { inspect } from "node:util";
import { ERROR_CODES, type Blame, type CodeEntry } from "./codes.ts";
import { printable } from "./printable.ts";
import { isVerlError, type ErrorLocation, type VerlError } from "./verl-error.ts";

/** What the table says of an error. Another copy of this package may have codes that this one lacks. */
function entryOf(error: unknown): CodeEntry | undefined {
  const table: Readonly<Record<string, CodeEntry>> = ERROR_CODES;
  return isVerlError(error) ? table[error.code] : undefined;
}

/** Whose fault an error is. What no code names is ours. */
export const blameOf = (error: unknown): Blame => entryOf(error)?.blame ?? "host";

/** Exit code of a command that ends with `error`: 2 where what it was given is wrong and nothing was begun, 1 where its work failed. */
export function exitCodeOf(error: unknown): 1 | 2 {
  const { blame, found = blame === "user" ? "start" : "run" } = entryOf(error) ?? { blame: "host" };
  return found === "start" ? 2 : 1;
}

/** `run.yaml:12:18`, `algorithm.gama=1`, else `verl-plugin-x@1.0.0`; empty when nothing is known. The path stands for itself. */
export function formatLocation({ file, line, column, override, plugin }: ErrorLocation = {}): string {
  const position = [file, line, column].filter((part) => part !== undefined).join(":");
  return [position, override].filter(Boolean).join("  ") || (plugin ?? "");
}

export interface FormatErrorOptions {
  /** Colour the code and the hint with ANSI sequences. Default: false. */
  color?: boolean;
}

/**
 * An error as a terminal shows it: code and place, message, hint. A stack is shown where it helps to mend something: the cause's
 * for a plugin's fault, the whole for ours, none for a mistake in the config.
 */
export function formatError(error: unknown, { color = false }: FormatErrorOptions = {}): string {
  const paint = (style: number, text: string): string => (color ? `\u001b[${style}m${text}\u001b[0m` : text);
  if (!isVerlError(error)) {
    return `${paint(31, "Unexpected error")}\n${printable(textOf(error) + causes(error))}`;
  }
  const head = [paint(31, error.code), printable(formatLocation(error.location)), printable(error.location?.path ?? "")]
    .filter(Boolean)
    .join("  ");
  const lines = [head, printable(error.message + rankOf(error))];
  if (error.hint) lines.push(paint(36, printable(error.hint)));
  return lines.join("\n") + printable(trace(error));
}

function trace(error: VerlError): string {
  switch (blameOf(error)) {
    case "user":
      return "";
    case "plugin":
      return causes(error);
    case "host":
      return `\n${frames(error)}${causes(error)}`;
  }
}

/** Anything that was thrown, as text, with its stack where that helps: an error that a code names says in words where to look. */
export const thrownText = (thrown: unknown): string =>
  isVerlError(thrown) && blameOf(thrown) !== "host" ? `${thrown.code}: ${thrown.message}` : textOf(thrown);

const textOf = (thrown: unknown): string =>
  thrown instanceof Error ? (thrown.stack ?? thrown.message) : typeof thrown === "string" ? thrown : inspect(thrown);

const frames = ({ stack = "" }: Error): string => stack.slice(Math.max(0, stack.search(/^ {4}at /m)));

function causes(error: unknown): string {
  let text = "";
  const seen = new Set<unknown>([error]);
  for (let cause = causeOf(error); cause !== undefined && !seen.has(cause); cause = causeOf(cause)) {
    seen.add(cause);
    text += `\nCaused by: ${thrownText(cause)}${isVerlError(cause) ? rankOf(cause) : ""}`;
  }
  return text;
}

/**
 * Which rank of a worker group an error comes from, as a line of its own; empty where its message says so, and where it comes from none.
 * Its details say it, for its words are those of the worker.
 */
function rankOf({ message, details: { rank, group, method } = {} }: VerlError): string {
  if (typeof rank !== "number" || typeof group !== "string" || typeof method !== "string") return "";
  const name = `ank ${rank} of ${group}`;
  return message.includes(name) ? "" : `\nOn r${name}, in ${method}.`;
}

const causeOf = (error: unknown): unknown => (error instanceof Error ? error.cause : undefined);
