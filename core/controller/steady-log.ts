import { createLogger, type Logger } from "../registry/index.ts";
import { textOf } from "./thrown-text.ts";

/** A log that fails no call: the line that it does not take goes to stderr. */
export function steadyLog(log: Logger): Logger {
  const stderr = createLogger({ level: "debug" });
  const at = (level: "debug" | "info" | "warn") => (message: string, fields?: object) => {
    const text = textOf(message);
    try {
      log[level](text, fields);
    } catch {
      stderr[level](text, fields);
    }
  };
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    warnOnce(code, message) {
      const text = textOf(message);
      try {
        log.warnOnce(code, text);
      } catch {
        stderr.warn(text);
      }
    },
  };
}
