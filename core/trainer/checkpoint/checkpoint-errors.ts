import { stat } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { printValue } from "../../config/override-grammar.ts";
import { VerlError } from "../../errors/verl-error.ts";
import { MANIFEST_FILE } from "./manifest.ts";
import { previousWhole, stepDirectories, stepOf } from "./step-directories.ts";

const AFRESH = "Start afresh with trainer.resume_mode=disable.";

/** The error of a checkpoint that is not there, or was never completed. */
export async function missing(path: string): Promise<VerlError> {
  const exists = await stat(path).then(
    () => true,
    () => false,
  );
  const what = exists ? `holds no complete checkpoint: it has no ${MANIFEST_FILE}` : "does not exist";
  const complete = (await stepDirectories(dirname(resolve(path)))).filter(({ manifest }) => manifest);
  const names = complete.reverse().map((sibling) => basename(sibling.path));
  return new VerlError("VERL_CHECKPOINT_MISSING", `${path} ${what}.`, {
    hint: names.length > 0 ? `Complete there: ${names.join(", ")}.` : AFRESH,
    location: { file: path },
  });
}

/** The error of a checkpoint that is not as it was written, with the words that resume from the one before. */
export async function corrupt(path: string, damage: string): Promise<VerlError> {
  const step = stepOf(path);
  const which = step === undefined ? path : `of step ${step} in ${path}`;
  const previous = await previousWhole(path, step);
  return new VerlError("VERL_CHECKPOINT_CORRUPT", `The checkpoint ${which} is corrupt: ${damage}.`, {
    hint: previous
      ? `The previous good one is ${previous}: resume with trainer.resume_mode=resume_path ${resumeFrom(previous)}`
      : `No earlier good checkpoint lies beside it. ${AFRESH}`,
    location: { file: path },
  });
}

/** An override as it is typed into a shell. */
function resumeFrom(path: string): string {
  const override = `trainer.resume_from_path=${printValue(path)}`;
  return override.includes("'") ? `"${override}"` : override;
}

/** The error of a disk that refuses. */
export function writeFailed(
  what: string,
  { directory, previous, cause }: { directory: string; previous?: string; cause: NodeJS.ErrnoException },
): VerlError {
  const kept = previous ? `The previous checkpoint is intact: ${previous}.` : "No earlier checkpoint exists.";
  const reason = WRITE_REASONS[cause.code ?? ""] ?? cause.message;
  return new VerlError("VERL_CHECKPOINT_WRITE", `The ${what} could not be written to ${directory}: ${reason}.`, {
    hint: `${kept} Free space there or set trainer.default_local_dir to another disk; the unfinished files were removed.`,
    location: { file: directory, path: "trainer.default_local_dir" },
    cause,
  });
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
