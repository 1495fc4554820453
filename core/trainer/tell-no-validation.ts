import type { PpoConfig, SftConfig } from "../config/index.ts";
import type { Logger } from "../registry/index.ts";

/** Warns of a config that asks for validations and names nothing to validate on. */
export function tellNoValidation({ data, trainer }: PpoConfig | SftConfig, log: Pick<Logger, "warn">): void {
  if (trainer.test_freq <= 0 || data.val_files.length > 0) return;
  log.warn(
    `trainer.test_freq is ${trainer.test_freq}, but data.val_files names no file: nothing is validated. Name the files, or set trainer.test_freq=-1.`,
  );
}
