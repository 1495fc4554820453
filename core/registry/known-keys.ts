import type { Kind } from "./kinds.ts";

type KeyTable<T> = Readonly<Partial<Record<Kind, Readonly<Record<string, T>>>>>;

/** Keys that published packages bring, so that an unknown key can name what to install. */
export const ECOSYSTEM: KeyTable<string> = {};

/** Keys that went by another name before: old → new. They still work, with a warning. */
export const RENAMED: KeyTable<string> = {};
