export type { ClassEntry, EntryMeta, EntryOf, Injectable } from "./entry.ts";
export { KINDS, type Kind, type KindInfo } from "./kinds.ts";
