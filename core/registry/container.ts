// tsyringe asks for the metadata polyfill before its own first line; this is the one file that imports either.
import "reflect-metadata";
import { container, inject as injectToken, injectable, type DependencyContainer } from "tsyringe";
import type { Injectable } from "./entry.ts";

type Class = Injectable<object>;

/** Metadata key under which tsyringe's `inject` notes tokens; the metadata store is process-wide, so notes of another copy are seen. */
const NOTES = "injectionTokens";
type Notes = Readonly<Record<string, { token: unknown }>>;

/**
 * Marks a constructor parameter of an extension class: `constructor(@inject(LOGGER) private readonly log: Logger)`.
 * @param token One of the exported tokens, a symbol of your own that is bound for the run, or a class, which is constructed likewise.
 */
export function inject(token: symbol | Injectable<unknown>): ParameterDecorator {
  return injectToken(token as symbol) as ParameterDecorator;
}

/** A container of the run's own; nothing that is bound in it is seen elsewhere. */
export const childContainer = (parent: DependencyContainer = container): DependencyContainer =>
  parent.createChildContainer();

/**
 * Tokens that a class's constructor asks for, by position; `undefined` where a parameter has no `@inject`. A class without a
 * constructor of its own takes its base's parameters.
 */
export function parametersOf(target: Class): (symbol | Class | undefined)[] {
  const inherits = target.length === 0;
  const notes = ((inherits ? Reflect.getMetadata(NOTES, target) : Reflect.getOwnMetadata(NOTES, target)) ??
    {}) as Notes;
  const length = Math.max(target.length, ...Object.keys(notes).map((index) => Number(index) + 1));
  return Array.from({ length }, (_, index) => notes[index]?.token as symbol | Class | undefined);
}

/** Lets tsyringe construct `target` from its `@inject` notes, own or inherited. */
export function makeInjectable(target: Class): void {
  const inherited: unknown = Reflect.getMetadata(NOTES, target);
  if (target.length === 0 && inherited !== undefined) Reflect.defineMetadata(NOTES, inherited, target);
  injectable()(target);
}
