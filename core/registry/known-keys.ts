import type { Kind } from "./kinds.ts";

type KeyTable<T> = Readonly<Partial<Record<Kind, Readonly<Record<string, T>>>>>;

/** Keys that went by another name before: old → new. They still work, with a warning. */
export const RENAMED: KeyTable<string> = {};
