import { stat } from "node:fs/promises";
import { extname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { VerlError, type ErrorLocation } from "../errors/verl-error.ts";
import { reasonOf } from "../errors/reason-of.ts";
import type { Injectable } from "../registry/entry.ts";
import { importSource } from "../registry/import-source.ts";
import { nearest } from "../registry/nearest.ts";
import { expandPath } from "../config/expand-path.ts";

/** A class in a file of the user's, as a config names it. */
export interface CustomClass {
  /** A .ts or .js file. */
  path: string;
  /** What the file exports; null: its only class, or its default export. */
  name: string | null;
}

export interface LoadedClass<T> {
  /** `<file name>#<export>`. */
  name: string;
  file: string;
  create: Injectable<T>;
}

/**
 * Loads a class by its file, in place of a registered key (verl's `custom_cls`, `sampler.class_path`, `datagen`).
 * @param option config path of the file's name, for messages. @param directory folder from which a relative path starts.
 * @throws VerlError VERL_DATA_CUSTOM_CLASS
 */
export async function loadCustomClass<T>(
  { path, name }: CustomClass,
  option: string,
  directory: string,
): Promise<LoadedClass<T>> {
  const file = resolve(directory, expandPath(path));
  const fault = faultsOf({ file, path: option });
  if (extname(file) === ".py") {
    throw fault(
      "is a Python file, which cannot run here.",
      "Write the class in TypeScript or JavaScript; the interface has the same methods.",
    );
  }
  const isFile = await stat(file).then(
    (info) => info.isFile(),
    () => false,
  );
  if (!isFile)
    throw fault(
      "does not exist.",
      `${option} names a .ts or .js file; a relative path starts at the working directory.`,
    );
  let module: Readonly<Record<string, unknown>>;
  try {
    module = await importSource(pathToFileURL(file).href);
  } catch (cause) {
    const reason = reasonOf(cause);
    throw fault(`does not load: ${reason}`, "Mend the file; it must load by itself.", cause);
  }
  const classes = Object.keys(module).filter((key) => isClass(module[key]));
  const chosen = name ?? (classes.includes("default") ? "default" : classes.length === 1 ? classes[0]! : undefined);
  if (chosen !== undefined && classes.includes(chosen))
    return {
      name: `${file.slice(file.lastIndexOf("/") + 1)}#${chosen}`,
      file,
      create: module[chosen] as Injectable<T>,
    };
  const meant = name === null ? [] : nearest(name, classes);
  throw fault(
    name === null ? "exports no class, or several." : `exports no class "${name}".`,
    `Its classes are ${classes.join(", ") || "none"}.${meant.length > 0 ? ` Did you mean ${meant[0]}?` : ""}`,
  );
}

/**
 * Whether an instance has the methods of its kind; a class of JavaScript may lack some.
 * @throws VerlError VERL_DATA_CUSTOM_CLASS
 */
export function requireMethods(
  instance: object,
  methods: readonly string[],
  { name, file }: Pick<LoadedClass<unknown>, "name" | "file">,
  option: string,
): void {
  const missing = methods.filter((method) => typeof (instance as Record<string, unknown>)[method] !== "function");
  if (missing.length === 0) return;
  throw faultsOf({ file, path: option })(
    `has the class ${name} without ${missing.map((method) => `${method}()`).join(", ")}.`,
    `It needs ${methods.map((method) => `${method}()`).join(", ")}.`,
  );
}

const faultsOf =
  (location: ErrorLocation) =>
  (what: string, hint: string, cause?: unknown): VerlError =>
    new VerlError("VERL_DATA_CUSTOM_CLASS", `The file "${location.file}" ${what}`, { location, hint, cause });

const isClass = (value: unknown): boolean =>
  typeof value === "function" && /^class\b/.test(Function.prototype.toString.call(value));
