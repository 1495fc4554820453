import { nearest } from "../registry/nearest.ts";
import { parseValue } from "./override-grammar.ts";
import type { Problem } from "./problem.ts";
import { environmentHint } from "./shell-variable.ts";
import {
  child,
  fromValue,
  locationOf,
  mapOf,
  parsePath,
  showPath,
  type Entry,
  type MapNode,
  type Node,
  type Path,
  type ScalarNode,
} from "./tree.ts";

export interface InterpolationContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** True for keys that exist in verl but not here; they read as null. */
  readonly isAbsent: (path: Path) => boolean;
}

/** Puts values in place of `${…}`. What cannot be resolved is reported and reads as null. */
export function interpolate(root: MapNode, context: InterpolationContext): { root: MapNode; problems: Problem[] } {
  const interpolator = new Interpolator(root, context);
  return { root: interpolator.resolved(root, []) as MapNode, problems: interpolator.problems };
}

class Interpolator {
  readonly problems: Problem[] = [];
  private readonly done = new Map<string, Node>();
  /** Paths being resolved, outermost first. */
  private readonly open: string[] = [];

  constructor(
    private readonly root: MapNode,
    private readonly context: InterpolationContext,
  ) {}

  resolved(node: Node, path: Path): Node {
    switch (node.kind) {
      case "map": {
        const entries = [...node.entries].map(([key, entry]): [string, Entry] => [
          key,
          { key: entry.key, node: this.resolved(entry.node, [...path, key]) },
        ]);
        return mapOf(node.origin, entries);
      }
      case "list":
        return { ...node, items: node.items.map((item, index) => this.resolved(item, [...path, String(index)])) };
      case "scalar":
        return typeof node.value === "string" && node.value.includes("${") ? this.once(node, node.value, path) : node;
    }
  }

  private once(node: ScalarNode, text: string, path: Path): Node {
    const key = showPath(path);
    const known = this.done.get(key);
    if (known !== undefined) return known;
    if (this.open.includes(key)) {
      const circle = [...this.open.slice(this.open.indexOf(key)), key].join(" → ");
      return this.fail(node, path, "VERL_CONFIG_CYCLE", `Interpolations refer to each other in a circle: ${circle}.`);
    }
    this.open.push(key);
    const result = this.expand(node, text, path);
    this.open.pop();
    this.done.set(key, result);
    return result;
  }

  /** A lone `${…}` takes the value it names, type and all; inside other text it is written out. */
  private expand(node: ScalarNode, text: string, path: Path): Node {
    const parts = split(text);
    if (parts === undefined)
      return this.fail(
        node,
        path,
        "VERL_CONFIG_INTERPOLATION",
        `\${ is not closed in "${text}".`,
        "Close it with }, or write \\${ for the text itself.",
      );
    const [first] = parts;
    if (parts.length === 1 && typeof first === "object") return this.evaluate(node, first.expression, path);
    let value = "";
    for (const part of parts) {
      const piece = typeof part === "string" ? part : this.evaluate(node, part.expression, path);
      if (typeof piece === "string") value += piece;
      else if (piece.kind === "scalar") value += String(piece.value);
      else return this.fail(node, path, "VERL_CONFIG_INTERPOLATION", `"${text}" puts a ${piece.kind} into text.`);
    }
    return { ...node, value };
  }

  private evaluate(node: ScalarNode, expression: string, path: Path): Node {
    const [, resolver, rest] = /^([A-Za-z_][\w.]*):(.*)$/s.exec(expression) ?? [];
    if (resolver === undefined) return this.reference(node, expression.trim(), path);
    const [name, fallback] = args(rest!);
    const inner = (text: string) => this.expand(node, text, path);
    switch (resolver) {
      case "oc.env":
      case "env": {
        const value = this.context.env[name];
        if (value !== undefined) return { ...node, value, untyped: true };
        if (fallback === undefined) {
          return this.fail(
            node,
            path,
            "VERL_CONFIG_INTERPOLATION",
            `The environment variable ${name} is not set.`,
            `Set it, or give a default: \${oc.env:${name},value}.`,
          );
        }
        const given = inner(fallback);
        return given.kind === "scalar"
          ? given.value === "null"
            ? { ...node, value: null }
            : { ...given, untyped: true }
          : given;
      }
      case "oc.select": {
        const found = this.find(node, name, path);
        if (found !== undefined) return found;
        return fallback === undefined ? { ...node, value: null } : this.literal(node, fallback, path);
      }
      default:
        return this.fail(
          node,
          path,
          "VERL_CONFIG_INTERPOLATION",
          `There is no resolver "${resolver}" in \${${expression}}.`,
          environmentHint(expression) ??
            "There are ${a.b}, ${.sibling}, ${oc.env:NAME,default} and ${oc.select:a.b,default}.",
        );
    }
  }

  private literal(node: ScalarNode, text: string, path: Path): Node {
    if (text.includes("${")) return this.expand(node, text, path);
    try {
      return fromValue(parseValue(text), node.origin);
    } catch {
      return { ...node, value: text };
    }
  }

  private reference(node: ScalarNode, text: string, path: Path): Node {
    const found = this.find(node, text, path);
    if (found !== undefined) return found;
    const target = absolute(text, path);
    if (this.context.isAbsent(target)) return { ...node, value: null };
    const known = nearestSibling(this.root, target);
    const hint = known === undefined ? environmentHint(text) : `Did you mean \${${known}}?`;
    return this.fail(
      node,
      path,
      "VERL_CONFIG_INTERPOLATION",
      `\${${text}} names ${showPath(target)}, which does not exist.`,
      hint,
    );
  }

  private find(node: ScalarNode, text: string, path: Path): Node | undefined {
    const target = absolute(text, path);
    let found: Node | undefined = this.root;
    for (const [depth, key] of target.entries()) {
      found = child(found, key);
      if (found === undefined) return undefined;
      // A step may itself be an interpolation that yields a map.
      if (found.kind === "scalar") found = this.resolved(found, target.slice(0, depth + 1));
    }
    const value = this.resolved(found, target);
    return value.kind === "scalar"
      ? { ...node, value: value.value, untyped: value.untyped, written: value.written }
      : { ...value, origin: node.origin };
  }

  private fail(node: ScalarNode, path: Path, code: Problem["code"], message: string, hint?: string): Node {
    this.problems.push({ code, message, hint, location: locationOf(node.origin, path) });
    return { ...node, value: null };
  }
}

/** Text and `${…}` parts, with `\${` for the text itself. Undefined when one is not closed. */
function split(text: string): (string | { expression: string })[] | undefined {
  const parts: (string | { expression: string })[] = [];
  let plain = "";
  for (let at = 0; at < text.length;) {
    if (text.startsWith("\\${", at)) {
      plain += "${";
      at += 3;
    } else if (text.startsWith("${", at)) {
      const end = closing(text, at);
      if (end === undefined) return undefined;
      if (plain !== "") parts.push(plain);
      plain = "";
      parts.push({ expression: text.slice(at + 2, end) });
      at = end + 1;
    } else {
      plain += text[at++];
    }
  }
  if (plain !== "" || parts.length === 0) parts.push(plain);
  return parts;
}

function closing(text: string, start: number): number | undefined {
  let open = 0;
  for (let at = start; at < text.length; at++) {
    if (text.startsWith("${", at)) open++;
    else if (text[at] === "}" && --open === 0) return at;
  }
  return undefined;
}

/** `NAME,default`: quotes around the default are taken off. */
function args(text: string): [string, string | undefined] {
  const comma = text.indexOf(",");
  if (comma < 0) return [text.trim(), undefined];
  const fallback = text.slice(comma + 1).trim();
  const quoted = /^(['"])(.*)\1$/s.exec(fallback);
  return [text.slice(0, comma).trim(), quoted?.[2] ?? fallback];
}

/** One dot before a path means "beside this key", each further one a level up. */
function absolute(text: string, path: Path): Path {
  const dots = /^\.*/.exec(text)![0].length;
  return dots === 0 ? parsePath(text) : [...path.slice(0, -dots), ...parsePath(text.slice(dots))];
}

function nearestSibling(root: Node, target: Path): string | undefined {
  let node = root;
  for (const [depth, key] of target.entries()) {
    const next = child(node, key);
    if (next === undefined) {
      const [name] = node.kind === "map" ? nearest(key, node.entries.keys(), 1) : [];
      return name && showPath([...target.slice(0, depth), name, ...target.slice(depth + 1)]);
    }
    node = next;
  }
  return undefined;
}
