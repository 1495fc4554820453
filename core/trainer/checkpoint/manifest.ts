import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { VerlError } from "../../errors/verl-error.ts";
import { digestFile, type FileDigest } from "./durable-files.ts";

export const MANIFEST_FILE = "manifest.json";
export const FORMAT = 1;

/** What a checkpoint consists of. It is written last, so a directory without one was never completed. */
export interface Manifest {
  /** Layout of the directory; a reader refuses a greater one than it knows. */
  format: number;
  step: number;
  /** Version of the package that wrote it. */
  verl: string;
  /** ISO 8601. */
  saved_at: string;
  /** Engine names, each a sub-directory. */
  engines: string[];
  /** Path inside the checkpoint → size and hash. */
  files: Record<string, FileDigest>;
  /** Hash of all of the above, so that an edited manifest is told. Checkpoints of earlier versions have none. */
  sha256?: string;
}

/** The manifest with its own hash. */
export const sealed = (manifest: Manifest): Manifest => ({ ...manifest, sha256: hashOf(manifest) });

function hashOf({ sha256: _, ...content }: Manifest): string {
  return createHash("sha256").update(JSON.stringify(content)).digest("hex");
}

/** A manifest as read: `damage` says why a file of that name is none. */
export type ManifestRead = { manifest: Manifest; damage?: never } | { manifest?: never; damage: string };

/** The manifest of a checkpoint, or undefined when the directory has no such file: it was never completed. */
export async function readManifest(directory: string): Promise<ManifestRead | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(join(directory, MANIFEST_FILE), "utf8"));
    return isManifest(value) ? { manifest: value } : { damage: `${MANIFEST_FILE} is not the manifest of a checkpoint` };
  } catch (error) {
    if (error instanceof SyntaxError) return { damage: `${MANIFEST_FILE} is cut short or overwritten` };
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw error;
  }
}

/** Checks the manifest and every file against its hash. @returns what is wrong with the first bad one, or undefined. */
export async function findDamage(directory: string, manifest: Manifest): Promise<string | undefined> {
  if (manifest.sha256 !== undefined && manifest.sha256 !== hashOf(manifest)) {
    return `${MANIFEST_FILE} is not as it was written`;
  }
  for (const [name, expected] of Object.entries(manifest.files)) {
    const actual = await digestFile(join(directory, name)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined;
      throw error;
    });
    if (!actual) return `${name} is missing`;
    if (actual.bytes !== expected.bytes) return `${name} has ${actual.bytes} bytes, not ${expected.bytes}`;
    if (actual.sha256 !== expected.sha256) {
      return `${name} has the hash ${actual.sha256.slice(0, 12)}…, not ${expected.sha256.slice(0, 12)}…`;
    }
  }
  return undefined;
}

export function checkFormat(directory: string, manifest: Manifest): void {
  if (manifest.format <= FORMAT) return;
  throw new VerlError(
    "VERL_CHECKPOINT_FORMAT",
    `${directory} has format ${manifest.format}; this version of verl reads formats up to ${FORMAT}.`,
    {
      hint: `It was written by verl ${manifest.verl}. Install that version or a later one.`,
      location: { file: directory },
    },
  );
}

function isManifest(value: unknown): value is Manifest {
  if (typeof value !== "object" || value === null) return false;
  const { format, step, files, engines, saved_at: savedAt } = value as Partial<Manifest>;
  return (
    Number.isSafeInteger(format) &&
    Number.isSafeInteger(step) &&
    typeof savedAt === "string" &&
    Array.isArray(engines) &&
    typeof files === "object" &&
    files !== null &&
    Object.keys(files).every(isInside)
  );
}

/** Manifests are input: their paths must stay inside the checkpoint. */
function isInside(name: string): boolean {
  return (
    name !== "" && name.split("/").every((part) => part !== "" && part !== "." && part !== ".." && !part.includes("\\"))
  );
}
