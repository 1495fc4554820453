import { randomBytes } from "node:crypto";
import { mkdir, rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { VerlError } from "../../errors/verl-error.ts";
import type { Logger } from "../../registry/logger.ts";
import { corrupt, missing, writeFailed } from "./checkpoint-errors.ts";
import {
  MODEL_FOLDER,
  readParts,
  writeParts,
  type CheckpointContent,
  type CheckpointParts,
  type WriteModel,
} from "./checkpoint-parts.ts";
import { makeDurable, replaceDurably, syncDirectory } from "./durable-files.ts";
import { POINTER_FILE, readPointer } from "./pointer.ts";
import { isAlive } from "./process-alive.ts";
import { checkFormat, findDamage, readManifest } from "./manifest.ts";
import { readDirectory, stepDirectories } from "./step-directories.ts";

/** A checkpoint on disk. */
export interface Checkpoint {
  step: number;
  path: string;
  parts: CheckpointParts;
}

export interface CheckpointInfo {
  step: number;
  path: string;
  /** ISO 8601. */
  savedAt: string;
  bytes: number;
}

export interface CheckpointManagerOptions {
  /** `trainer.default_local_dir`. */
  dir: string;
  /** Number of checkpoints to keep, those of earlier processes included; null keeps all. */
  keep: number | null;
  logger: Pick<Logger, "info" | "warn">;
}

/** `.saving-<pid>-…` is being written, `.replaced-<pid>-…` waits to be deleted. */
const SCRATCH_DIRECTORY = /^\.(saving|replaced)-(\d{1,10})-[0-9a-f]{8}-(global_step_\d{1,15}|huggingface)$/;

/**
 * Saves and finds checkpoints in verl's layout: `<dir>/global_step_<N>/{actor,critic}/…` and `<dir>/latest_checkpointed_iteration.txt`.
 * A save is written to a scratch directory, made durable, renamed, and only then pointed to: a kill at any moment leaves the
 * previous checkpoint as it was.
 */
export class CheckpointManager {
  readonly #dir: string;
  readonly #keep: number | null;
  readonly #logger: CheckpointManagerOptions["logger"];
  #swept = false;

  constructor({ dir, keep, logger }: CheckpointManagerOptions) {
    this.#dir = resolve(dir);
    this.#keep = keep;
    this.#logger = logger;
  }

  /**
   * Writes one checkpoint, points `latest` to it and deletes those beyond `keep`.
   * @returns its directory.
   * @throws VERL_CHECKPOINT_WRITE when the disk refuses, VERL_CHECKPOINT_STATE for a state that files cannot keep.
   */
  async save(step: number, parts: CheckpointContent): Promise<string> {
    const publish = await this.prepare(step, parts);
    return publish();
  }

  /**
   * The long half of `save`: writes the checkpoint beside its place. Nobody finds it there, and a later start clears it away.
   * @returns the short half, which puts it in its place; it returns the directory.
   */
  async prepare(step: number, parts: CheckpointContent): Promise<() => Promise<string>> {
    const name = `global_step_${step}`;
    const path = join(this.#dir, name);
    const scratch = this.#scratch("saving", name);
    const what = `checkpoint of step ${step}`;
    await this.#orClear(scratch, what, async () => {
      await mkdir(this.#dir, { recursive: true });
      await this.#sweep();
      await mkdir(scratch);
      await writeParts(scratch, step, parts);
    });
    return async () => {
      await this.#orClear(scratch, what, async () => {
        await this.#putInPlace(scratch, name);
        await replaceDurably(join(this.#dir, POINTER_FILE), String(step));
      });
      await this.#retain(path);
      return path;
    };
  }

  /** Writes the run's model beside its place, then puts it there. @throws VERL_CHECKPOINT_WRITE */
  async saveModel(write: WriteModel): Promise<void> {
    const scratch = this.#scratch("saving", MODEL_FOLDER);
    await this.#orClear(scratch, "trained model", async () => {
      await mkdir(this.#dir, { recursive: true });
      await write(scratch);
      await makeDurable(scratch);
      await this.#putInPlace(scratch, MODEL_FOLDER);
    });
  }

  /** All complete checkpoints, the smallest step first. */
  async list(): Promise<CheckpointInfo[]> {
    return (await stepDirectories(this.#dir)).flatMap(({ step, path, manifest }) => {
      if (!manifest) return [];
      const bytes = Object.values(manifest.files).reduce((sum, file) => sum + file.bytes, 0);
      return [{ step, path, savedAt: manifest.saved_at, bytes }];
    });
  }

  /**
   * The checkpoint that `trainer.resume_mode: auto` resumes from: the one that the pointer names, or, with a warning, the newest
   * when the pointer is lost or what it names was never completed. Undefined when there is none. One that is damaged is not passed
   * over: `load` verifies what is chosen, and refuses it.
   */
  async latest(): Promise<string | undefined> {
    await this.#sweep();
    const all = await stepDirectories(this.#dir);
    const newest = all.at(-1);
    const pointed = readPointer(this.#dir);
    const chosen = all.find(({ step }) => step === pointed) ?? newest;
    if (chosen && pointed === undefined) {
      this.#logger.warn(`${POINTER_FILE} is missing or unreadable; the newest complete checkpoint is ${chosen.path}.`);
    } else if (chosen && chosen.step !== pointed) {
      this.#logger.warn(
        `${POINTER_FILE} names step ${pointed}, whose checkpoint was never completed; the newest complete one is ${chosen.path}.`,
      );
    } else if (chosen && newest && newest.step > chosen.step) {
      this.#logger.warn(
        `${POINTER_FILE} names step ${chosen.step} although ${newest.path} is newer; the pointer decides.`,
      );
    } else if (!chosen && pointed !== undefined) {
      this.#logger.warn(`${POINTER_FILE} names step ${pointed}, but ${this.#dir} holds no complete checkpoint.`);
    }
    return chosen?.path;
  }

  /**
   * The checkpoint that a run starts from, by `trainer.resume_mode`: `auto` (the latest, or undefined for a fresh start), `disable`
   * (undefined) or `resume_path` (alias `path`: the directory of `trainer.resume_from_path`).
   * @throws VERL_CHECKPOINT_MISSING when the named path holds no checkpoint, or one that was never completed.
   */
  async resolveResume(
    mode: "auto" | "disable" | "resume_path" | "path",
    path: string | null,
  ): Promise<string | undefined> {
    if (mode === "disable") return undefined;
    if (mode === "auto") return this.latest();
    if (path === null || path === "") {
      throw new VerlError(
        "VERL_CHECKPOINT_MISSING",
        `trainer.resume_mode is ${mode}, but trainer.resume_from_path is empty.`,
        {
          hint: "Set trainer.resume_from_path to a directory global_step_<N>, or trainer.resume_mode=auto.",
          location: { path: "trainer.resume_from_path" },
        },
      );
    }
    if (!(await readManifest(path))) throw await missing(path);
    return path;
  }

  /** Points `latest` to a checkpoint of this directory from which a run goes on, so that a later start does not take one of the way left. */
  async pointTo(step: number): Promise<void> {
    if (readPointer(this.#dir) === step) return;
    await replaceDurably(join(this.#dir, POINTER_FILE), String(step));
    this.#logger.info(`${POINTER_FILE} now names step ${step}; later checkpoints stay until this run replaces them.`);
  }

  /**
   * Reads a checkpoint after checking every file against its hash.
   * @throws VERL_CHECKPOINT_MISSING, VERL_CHECKPOINT_CORRUPT (names the file, and the previous checkpoint that is whole), VERL_CHECKPOINT_FORMAT.
   */
  async load(path: string): Promise<Checkpoint> {
    const read = await readManifest(path);
    if (!read) throw await missing(path);
    const { manifest } = read;
    if (!manifest) throw await corrupt(path, read.damage);
    checkFormat(path, manifest);
    const damage = await findDamage(path, manifest);
    if (damage) throw await corrupt(path, damage);
    return { step: manifest.step, path, parts: await readParts(path, manifest) };
  }

  async #orClear(scratch: string, what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      await rm(scratch, { recursive: true, force: true }).catch(() => undefined);
      const refusal = systemError(error);
      if (!refusal) throw error;
      const previous = (await this.list().catch(() => [])).at(-1)?.path;
      throw writeFailed(what, { directory: this.#dir, previous, cause: refusal });
    }
  }

  #scratch(kind: "saving" | "replaced", name: string): string {
    return join(this.#dir, `.${kind}-${process.pid}-${randomBytes(4).toString("hex")}-${name}`);
  }

  /** Renames a finished directory to its place. One that lies there already (after a resume from further back) makes room. */
  async #putInPlace(scratch: string, name: string): Promise<void> {
    const path = join(this.#dir, name);
    const old = this.#scratch("replaced", name);
    const replaced = await rename(path, old).then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return false;
        throw error;
      },
    );
    await rename(scratch, path);
    await syncDirectory(this.#dir);
    if (replaced) await rm(old, { recursive: true, force: true });
  }

  /** Clears what a killed process left behind; directories of living processes are left alone. */
  async #sweep(): Promise<void> {
    if (this.#swept) return;
    this.#swept = true;
    const names = await readDirectory(this.#dir);
    for (const name of names) {
      const [, kind, pid, target] = SCRATCH_DIRECTORY.exec(name) ?? [];
      if (target === undefined || (Number(pid) !== process.pid && isAlive(Number(pid)))) continue;
      const path = join(this.#dir, name);
      if (kind === "replaced" && !names.includes(target)) {
        await rename(path, join(this.#dir, target));
        this.#logger.warn(`Put ${target} back in place: the save that was to replace it was interrupted.`);
      } else {
        await rm(path, { recursive: true, force: true });
        this.#logger.info(`Deleted ${path}, left by a save that was interrupted.`);
      }
    }
  }

  /** Age is the time of saving, not the step: after a resume from further back, later steps on disk are the older run's. */
  async #retain(justSaved: string): Promise<void> {
    if (this.#keep === null) return;
    const others = (await this.list()).filter(({ path }) => path !== justSaved);
    others.sort((a, b) => b.savedAt.localeCompare(a.savedAt) || b.step - a.step);
    for (const { path } of others.slice(Math.max(this.#keep, 1) - 1)) {
      await rm(path, { recursive: true, force: true }).catch((error: Error) => {
        this.#logger.warn(`The old checkpoint ${path} could not be deleted: ${error.message}.`);
      });
    }
  }
}

/** The system's refusal that an error is, or that lies behind it: an engine's errors come wrapped. */
function systemError(error: unknown): NodeJS.ErrnoException | undefined {
  let at = error as (NodeJS.ErrnoException & { cause?: unknown }) | null | undefined;
  while (typeof at === "object" && at !== null && typeof at.syscall !== "string") at = at.cause as typeof at;
  return at ?? undefined;
}
