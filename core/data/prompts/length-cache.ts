import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { VERSION } from "../../registry/version.ts";
import type { Tokenizer } from "../tokenizer.ts";

/** Files that are kept; the ones used longest ago go first. */
const KEPT = 64;

/** `VERL_CACHE_DIR`, or `verl` in the user's folder for caches. */
const cacheFolder = (): string =>
  join(
    process.env["VERL_CACHE_DIR"] ?? join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "verl"),
    "prompt-lengths",
  );

/**
 * Lengths of prompts by what they depend on: the prompts themselves, the tokenizer's files and the template. Nothing here fails a
 * run: what cannot be read is measured again, what cannot be written is left.
 */
export class LengthCache {
  private constructor(private readonly file: string) {}

  /** Undefined where lengths depend on more than that: a tokenizer of no folder, a template that asks for the date. */
  static async open(
    tokenizer: Tokenizer,
    variables: Readonly<Record<string, unknown>>,
    chunks: readonly string[],
  ): Promise<LengthCache | undefined> {
    const { source, chatTemplate = "", toolTemplate = "" } = tokenizer;
    if (source === undefined || (chatTemplate + toolTemplate).includes("strftime_now")) return undefined;
    const hash = createHash("sha256");
    for (const name of ["tokenizer.json", "tokenizer_config.json"]) {
      const bytes = await readFile(join(source.folder, name)).catch(() => undefined);
      if (bytes === undefined) return undefined;
      hash.update(`${bytes.length}:`).update(bytes);
    }
    // Lengths before each part keep two different lists of parts from reading the same.
    for (const part of [VERSION, chatTemplate, toolTemplate, JSON.stringify(variables), ...chunks])
      hash.update(`${part.length}:`).update(part);
    return new LengthCache(join(cacheFolder(), `${hash.digest("hex")}.bin`));
  }

  async read(count: number): Promise<Int32Array | undefined> {
    const bytes = await readFile(this.file).catch(() => undefined);
    if (bytes === undefined || bytes.length !== count * 4) return undefined;
    const lengths = new Int32Array(count);
    new Uint8Array(lengths.buffer).set(bytes);
    return lengths.some((length) => length < 0) ? undefined : lengths;
  }

  async write(lengths: Int32Array): Promise<void> {
    const part = `${this.file}.${process.pid}`;
    try {
      await mkdir(cacheFolder(), { recursive: true });
      await writeFile(part, new Uint8Array(lengths.buffer, lengths.byteOffset, lengths.byteLength));
      await rename(part, this.file);
      await prune();
    } catch {
      await rm(part, { force: true }).catch(() => undefined);
    }
  }
}

async function prune(): Promise<void> {
  const folder = cacheFolder();
  const files = await readdir(folder);
  if (files.length <= KEPT) return;
  const aged = await Promise.all(
    files.map(async (name) => ({ name, at: (await stat(join(folder, name)).catch(() => undefined))?.mtimeMs ?? 0 })),
  );
  aged.sort((a, b) => b.at - a.at);
  for (const { name } of aged.slice(KEPT)) await rm(join(folder, name), { force: true });
}
