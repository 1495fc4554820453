import { randomBytes } from "node:crypto";
import { mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { VerlError } from "../../errors/verl-error.ts";
import type { Logger } from "../../registry/logger.ts";
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
import { checkFormat, findDamage, MANIFEST_FILE, readManifest, type Manifest } from "./manifest.ts";

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

const STEP_DIRECTORY = /^global_step_(\d{1,15})$/;
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
    const found: CheckpointInfo[] = [];
    for (const { path } of await this.#stepDirectories()) {
      const manifest = await readManifest(path);
      if (!manifest) continue;
      const bytes = Object.values(manifest.files).reduce((sum, file) => sum + file.bytes, 0);
      found.push({ step: manifest.step, path, savedAt: manifest.saved_at, bytes });
    }
    return found.sort((a, b) => a.step - b.step);
  }

  /**
   * The checkpoint that `trainer.resume_mode: auto` resumes from: the one that the pointer names, or, with a warning, the newest
   * complete one when the pointer or what it names is missing. Undefined when there is none. Its content is verified by `load`.
   */
  async latest(): Promise<string | undefined> {
    await this.#sweep();
    const complete = await this.list();
    const newest = complete.at(-1);
    const pointed = readPointer(this.#dir);
    const chosen = complete.find(({ step }) => step === pointed) ?? newest;
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
   * @throws VERL_CHECKPOINT_MISSING when the named path holds no complete checkpoint.
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
    if (!(await readManifest(path))) throw await this.#missing(path);
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
    const manifest = await readManifest(path);
    if (!manifest) throw await this.#missing(path);
    checkFormat(path, manifest);
    const damage = await findDamage(path, manifest);
    if (damage) throw await this.#corrupt(path, manifest, damage);
    return { step: manifest.step, path, parts: await readParts(path, manifest) };
  }

  async #orClear(scratch: string, what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      await rm(scratch, { recursive: true, force: true }).catch(() => undefined);
      const refusal = systemError(error);
      throw refusal ? await this.#writeFailed(what, refusal) : error;
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

  async #stepDirectories(): Promise<{ step: number; path: string }[]> {
    return (await readDirectory(this.#dir)).flatMap((name) => {
      const step = STEP_DIRECTORY.exec(name)?.[1];
      return step === undefined ? [] : [{ step: Number(step), path: join(this.#dir, name) }];
    });
  }

  async #writeFailed(what: string, error: NodeJS.ErrnoException): Promise<VerlError> {
    const previous = (await this.list().catch(() => [])).at(-1);
    const kept = previous ? `The previous checkpoint is intact: ${previous.path}.` : "No earlier checkpoint exists.";
    const reason = WRITE_REASONS[error.code ?? ""] ?? error.message;
    return new VerlError("VERL_CHECKPOINT_WRITE", `The ${what} could not be written to ${this.#dir}: ${reason}.`, {
      hint: `${kept} Free space there or set trainer.default_local_dir to another disk; the unfinished files were removed.`,
      location: { file: this.#dir, path: "trainer.default_local_dir" },
      cause: error,
    });
  }

  async #missing(path: string): Promise<VerlError> {
    const exists = await stat(path).then(
      () => true,
      () => false,
    );
    const what = exists ? `holds no complete checkpoint: ${MANIFEST_FILE} is missing or unreadable` : "does not exist";
    const siblings = (await siblingsOf(path)).map(({ path: sibling }) => basename(sibling));
    return new VerlError("VERL_CHECKPOINT_MISSING", `${path} ${what}.`, {
      hint:
        siblings.length > 0
          ? `Complete there: ${siblings.join(", ")}.`
          : "Set trainer.resume_mode=disable to start afresh.",
      location: { file: path },
    });
  }

  async #corrupt(path: string, manifest: Manifest, damage: string): Promise<VerlError> {
    const hint = await previousWhole(path, manifest);
    return new VerlError("VERL_CHECKPOINT_CORRUPT", `The checkpoint ${path} is corrupt: ${damage}.`, {
      hint: hint
        ? `The previous good one is ${hint}: resume with trainer.resume_mode=resume_path trainer.resume_from_path=${hint}`
        : "No earlier good checkpoint lies beside it. Start afresh with trainer.resume_mode=disable.",
      location: { file: path },
    });
  }
}

const WRITE_REASONS: Readonly<Record<string, string>> = {
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EFBIG: "a file would exceed the size limit of this process",
  EACCES: "permission denied",
  EPERM: "permission denied",
  EROFS: "the file system is read-only",
  ENOTDIR: "a part of the path is not a directory",
};

/** The system's refusal that an error is, or that lies behind it: an engine's errors come wrapped. */
function systemError(error: unknown): NodeJS.ErrnoException | undefined {
  let at = error as (NodeJS.ErrnoException & { cause?: unknown }) | null | undefined;
  while (typeof at === "object" && at !== null && typeof at.syscall !== "string") at = at.cause as typeof at;
  return at ?? undefined;
}

/** Complete checkpoints in the directory that holds `path`, `path` itself left out; the greatest step first. */
async function siblingsOf(path: string): Promise<{ path: string; manifest: Manifest }[]> {
  const parent = dirname(resolve(path));
  const found: { path: string; manifest: Manifest }[] = [];
  for (const name of await readDirectory(parent)) {
    if (!STEP_DIRECTORY.test(name) || name === basename(path)) continue;
    const manifest = await readManifest(join(parent, name));
    if (manifest) found.push({ path: join(parent, name), manifest });
  }
  return found.sort((a, b) => b.manifest.step - a.manifest.step);
}

/** The nearest earlier checkpoint whose files all pass their hashes. */
async function previousWhole(path: string, { step }: Manifest): Promise<string | undefined> {
  for (const sibling of await siblingsOf(path)) {
    if (sibling.manifest.step < step && !(await findDamage(sibling.path, sibling.manifest))) return sibling.path;
  }
  return undefined;
}

async function readDirectory(path: string): Promise<string[]> {
  return readdir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
}
