import type { Injectable } from "./entry.ts";
import { kindInfo, type Kind } from "./kinds.ts";

/**
 * Methods of its kind that the instances of a class cannot have: no prototype has them, and no constructor or field assigns them, as
 * far as the source tells. What is assigned is only known of an instance.
 */
export function methodsMissingFromClass(kind: Kind, create: Injectable<object>): string[] {
  return missing(
    kind,
    (name) =>
      ancestors(create.prototype).some((each) => has(each, name)) ||
      ancestors(create).some((each) => assigns(each, name)),
  );
}

/** Methods of its kind that an instance does not have. */
export function methodsMissingFromInstance(kind: Kind, instance: object): string[] {
  return missing(kind, (name) => typeof (instance as Record<string, unknown>)[name] === "function");
}

/** Where there are alternatives, those of the one that is nearest to being met. */
function missing(kind: Kind, present: (name: string) => boolean): string[] {
  const [nearest] = (kindInfo(kind).methods ?? [])
    .map((names) => ({ names, lacking: names.filter((name) => !present(name)) }))
    .sort((a, b) => a.lacking.length / a.names.length - b.lacking.length / b.names.length);
  return nearest?.lacking ?? [];
}

/** An object and those that it inherits from. */
function ancestors(object: unknown): object[] {
  const chain: object[] = [];
  for (let at = object; at !== null && at !== undefined; at = Object.getPrototypeOf(at)) chain.push(at);
  return chain;
}

function has(prototype: object, name: string): boolean {
  const found = Object.getOwnPropertyDescriptor(prototype, name);
  // A getter is not asked: it may need an instance.
  return found !== undefined && (found.get !== undefined || typeof found.value === "function");
}

/** `score = …` in the class or its constructor, or `"score"` in what a compiler makes of that. */
const assigns = (create: object, name: string): boolean =>
  typeof create === "function" &&
  new RegExp(`(?<!\\b(?:const|let|var)\\s+)\\b${name}\\s*=(?!=)|["']${name}["']`).test(
    Function.prototype.toString.call(create),
  );
