import { mkdir, readdir, realpath, rename } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import type { PpoConfig, SftConfig } from "../config/index.ts";
import { leaves } from "../config/print.ts";
import { isVerlError, VerlError } from "../errors/index.ts";
import { reasonOf } from "../errors/reason-of.ts";
import type { Logger } from "../registry/index.ts";
import { lockDirectory } from "./run-lock.ts";

/** What a run leaves in its directory. */
const RUN_FILE =
  /^(global_step_\d{1,15}|latest_checkpointed_iteration\.txt|(metrics|rollouts|traces)\.jsonl|run\.json|report\.html|huggingface|tensorboard)$/;
/** What tells that a run was there. */
const TRACE = /^(global_step_.*|latest_.*|.*\.jsonl)$/;
const PREVIOUS = /^previous-(\d{1,9})$/;
/** Keys whose paths are not read in a fresh start. */
const NOT_READ = new Set(["trainer.default_local_dir", "trainer.resume_from_path"]);

/** `trainer.default_local_dir`, held by one run at a time. */
export class RunDirectory {
  private constructor(
    private readonly path: string,
    private readonly logger: Pick<Logger, "info" | "warn">,
    private readonly unlock: () => Promise<void>,
  ) {}

  /** Makes the directory if need be and takes it. @throws VERL_TRAIN_DIRECTORY, VERL_TRAIN_DIRECTORY_BUSY */
  static async open(path: string, logger: Pick<Logger, "info" | "warn">): Promise<RunDirectory> {
    return inDirectory(path, async () => {
      await mkdir(path, { recursive: true });
      return new RunDirectory(path, logger, await lockDirectory(path, logger));
    });
  }

  /** Does what writes to the directory. @throws VERL_TRAIN_DIRECTORY where the disk refuses. */
  write(work: () => Promise<void>): Promise<void> {
    return inDirectory(this.path, work);
  }

  /** True for a checkpoint of this directory. */
  async owns(checkpoint: string): Promise<boolean> {
    return dirname(await realpath(checkpoint)) === (await realpath(this.path));
  }

  /**
   * Moves what an earlier run left to `previous-<n>`, so that the new run's files tell of it alone.
   * @throws VERL_TRAIN_DIRECTORY when the config reads one of these files.
   */
  async setAside(config: PpoConfig | SftConfig): Promise<void> {
    const names = await readdir(this.path);
    const left = names.filter((name) => RUN_FILE.test(name));
    if (!left.some((name) => TRACE.test(name))) return;
    this.refuseIfRead(left, config);
    const before = names.map((name) => Number(PREVIOUS.exec(name)?.[1] ?? 0));
    const previous = join(this.path, `previous-${Math.max(...before) + 1}`);
    await this.write(async () => {
      await mkdir(previous);
      for (const name of left) await rename(join(this.path, name), join(previous, name));
    });
    this.logger.info(
      `${this.path} held an earlier run. This one starts afresh; the earlier one's files are now in ${previous}.`,
    );
  }

  close(): Promise<void> {
    return this.unlock();
  }

  private refuseIfRead(names: readonly string[], config: PpoConfig | SftConfig): void {
    for (const [path, value] of leaves(config, [])) {
      const key = path.join(".");
      if (NOT_READ.has(key)) continue;
      for (const text of [value].flat()) {
        if (typeof text !== "string" || !names.includes(relative(resolve(this.path), resolve(text)).split(sep)[0]!))
          continue;
        throw new VerlError(
          "VERL_TRAIN_DIRECTORY",
          `${this.path} holds an earlier run, and a fresh start would set its files aside; but ${key} reads ${text} there.`,
          {
            hint: "Set trainer.default_local_dir to another directory.",
            location: { file: this.path, path: key },
          },
        );
      }
    }
  }
}

async function inDirectory<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (isVerlError(cause)) throw cause;
    const reason = reasonOf(cause);
    throw new VerlError("VERL_TRAIN_DIRECTORY", `The run's directory ${path} cannot be written: ${reason}.`, {
      location: { file: path, path: "trainer.default_local_dir" },
      hint: "Free space there, or set trainer.default_local_dir to another directory.",
      cause,
    });
  }
}
