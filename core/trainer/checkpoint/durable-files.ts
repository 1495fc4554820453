import { createHash } from "node:crypto";
import { open, readdir, rename } from "node:fs/promises";
import { dirname, join } from "node:path";

export interface FileDigest {
  bytes: number;
  sha256: string;
}

/** Writes a new file piece by piece and returns once the disk has it. */
export async function writeDurably(path: string, pieces: readonly Uint8Array[]): Promise<FileDigest> {
  const hash = createHash("sha256");
  let bytes = 0;
  const file = await open(path, "wx");
  try {
    for (const piece of pieces) {
      hash.update(piece);
      bytes += piece.byteLength;
      await file.writeFile(piece);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return { bytes, sha256: hash.digest("hex") };
}

/** Makes the names in a directory durable: without it a rename may be lost in a power cut. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/** Returns once the disk has everything below a directory. @returns the files, as paths from there. */
export async function makeDurable(directory: string, below = ""): Promise<string[]> {
  const files: string[] = [];
  for (const entry of await readdir(join(directory, below), { withFileTypes: true })) {
    const path = below === "" ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) {
      files.push(...(await makeDurable(directory, path)));
      continue;
    }
    const file = await open(join(directory, path), "r+");
    try {
      await file.sync();
    } finally {
      await file.close();
    }
    files.push(path);
  }
  await syncDirectory(join(directory, below));
  return files;
}

/** Replaces a small file so that a reader sees the old text or the new, never a mixture. */
export async function replaceDurably(path: string, text: string): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`;
  const file = await open(temporary, "w");
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
  await syncDirectory(dirname(path));
}

/** Size and hash of a file, read in pieces. */
export async function digestFile(path: string): Promise<FileDigest> {
  const hash = createHash("sha256");
  let bytes = 0;
  const file = await open(path, "r");
  try {
    for await (const piece of file.createReadStream({ autoClose: false, highWaterMark: 1 << 20 })) {
      hash.update(piece as Uint8Array);
      bytes += (piece as Uint8Array).byteLength;
    }
  } finally {
    await file.close();
  }
  return { bytes, sha256: hash.digest("hex") };
}
