import { plainFacts } from "../errors/plain-facts.ts";
import { printable } from "../errors/printable.ts";

/** Where a run tells what it does. Lines go to stderr; stdout belongs to machine-readable output. */
export interface Logger {
  debug(message: string, fields?: object): void;
  info(message: string, fields?: object): void;
  warn(message: string, fields?: object): void;
  /** Warns the first time that `code` is seen by this logger; later calls do nothing. */
  warnOnce(code: string, message: string): void;
}

const LEVELS = { debug: 0, info: 1, warn: 2, silent: 3 } as const;

export interface LoggerOptions {
  /** Lowest level that is written. Default: `info`. */
  level?: keyof typeof LEVELS;
  /** Takes one line without its newline. Default: stderr. */
  write?: (line: string) => void;
}

/** A logger of plain lines: the message, then its fields as JSON, in which what JSON has no place for is named: `[function]`. */
export function createLogger({
  level = "info",
  write = (line) => void process.stderr.write(`${line}\n`),
}: LoggerOptions = {}): Logger {
  const seen = new Set<string>();
  const at = (own: Exclude<keyof typeof LEVELS, "silent">, prefix: string) => (message: string, fields?: object) => {
    if (LEVELS[own] < LEVELS[level]) return;
    const line =
      fields === undefined ? `${prefix}${message}` : `${prefix}${message} ${JSON.stringify(plainFacts(fields))}`;
    write(printable(line));
  };
  const warn = at("warn", "warning: ");
  return {
    debug: at("debug", "debug: "),
    info: at("info", ""),
    warn,
    warnOnce(code, message) {
      if (seen.has(code)) return;
      seen.add(code);
      warn(message);
    },
  };
}
