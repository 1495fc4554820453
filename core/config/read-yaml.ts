import { readFileSync } from "node:fs";
import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, type Document, type ParsedNode } from "yaml";
import type { Problem } from "./problem.ts";
import { mapOf, type Entry, type ListNode, type MapNode, type Node, type Origin, type Scalar } from "./tree.ts";

/** Aliases can unfold to more nodes than the file has bytes; no config needs this many. */
const MAX_NODES = 100_000;

export interface YamlFile {
  readonly root: MapNode;
  readonly text: string;
  readonly problems: readonly Problem[];
}

/** Reads a YAML 1.2 file into a tree whose nodes know their line and column. Never throws for what the file says. */
export function readYaml(path: string, shown: string): YamlFile {
  const start: Origin = { from: "file", file: shown, line: 1, column: 1 };
  const empty = mapOf(start);
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    const reason =
      (cause as NodeJS.ErrnoException).code === "ENOENT"
        ? "does not exist"
        : `cannot be read (${(cause as Error).message})`;
    const problem: Problem = {
      code: "VERL_CONFIG_FILE",
      message: `The config file ${shown} ${reason}.`,
      location: { file: shown },
    };
    return { root: empty, text: "", problems: [problem] };
  }
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const originAt = (offset: number): Origin => {
    const { line, col } = lines.linePos(offset);
    return { from: "file", file: shown, line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  if (document.errors.length > 0) {
    const problems = document.errors.map(({ message, pos }): Problem => {
      const { line, col } = lines.linePos(pos[0]);
      return {
        code: "VERL_CONFIG_FILE",
        message: `${shown} is not valid YAML: ${sentence(message)}`,
        location: { file: shown, line, column: col },
      };
    });
    return { root: empty, text, problems };
  }
  if (document.contents === null) return { root: empty, text, problems: [] };
  const converter = new Converter(document, originAt);
  const root = converter.convert(document.contents);
  if (root.kind === "map") return { root, text, problems: converter.problems };
  const problem: Problem = {
    code: "VERL_CONFIG_FILE",
    message: `${shown} holds a ${root.kind === "list" ? "list" : "single value"}; a config is a map of keys.`,
    location: { file: shown, line: 1, column: 1 },
  };
  return { root: empty, text, problems: [problem] };
}

class Converter {
  readonly problems: Problem[] = [];
  private count = 0;
  /** Lists and maps that are being read, from the outermost in. */
  private readonly open = new Set<unknown>();

  constructor(
    private readonly document: Document<ParsedNode>,
    private readonly originAt: (offset: number) => Origin,
  ) {}

  convert(node: unknown): Node {
    const origin = this.originOf(node);
    if (++this.count > MAX_NODES) {
      if (this.count === MAX_NODES + 1) this.report(origin, `The file unfolds to more than ${MAX_NODES} values.`);
      return { kind: "scalar", value: null, origin };
    }
    if (isAlias(node)) {
      const target = node.resolve(this.document);
      if (this.open.has(target))
        this.report(origin, `The alias *${node.source} stands inside of what it names, so it has no end.`);
      else if (target !== undefined) return this.convert(target);
      return { kind: "scalar", value: null, origin };
    }
    if (isMap(node) || isSeq(node)) {
      this.open.add(node);
      const result = isMap(node) ? this.map(node.items, origin) : this.list(node.items, origin);
      this.open.delete(node);
      return result;
    }
    if (!isScalar(node)) return { kind: "scalar", value: null, origin };
    const value = this.scalar(node.value, origin);
    if (typeof value !== "number" || node.source === undefined) return { kind: "scalar", value, origin };
    // An octal number for YAML 1.1, which verl's configs are read as, and a decimal one for YAML 1.2: text, as on the command line.
    if (/^[+-]?0\d/.test(node.source)) return { kind: "scalar", value: node.source, origin };
    return { kind: "scalar", value, written: node.source, origin };
  }

  private map(items: readonly { key: unknown; value: unknown }[], origin: Origin): MapNode {
    const merged: [string, Entry][] = [];
    const own: [string, Entry][] = [];
    for (const { key, value } of items) {
      const at = this.originOf(key);
      const name = isScalar(key) ? String(key.value) : undefined;
      if (name === undefined) this.report(at, "A key is a list or a map; keys are plain text.");
      else if (name === "<<") merged.push(...this.merged(value, at));
      else
        own.push([
          name,
          { key: at, node: value === null ? { kind: "scalar", value: null, origin: at } : this.convert(value) },
        ]);
    }
    return mapOf(origin, [...merged, ...own]);
  }

  /** `<<: *a` or `<<: [*a, *b]`, where the first of a list wins. */
  private merged(value: unknown, at: Origin): [string, Entry][] {
    const node = this.convert(value);
    const maps = node.kind === "list" ? [...node.items].reverse() : [node];
    return maps.flatMap((map) => {
      if (map.kind === "map") return [...map.entries];
      this.report(at, "Only maps can be merged by `<<`.");
      return [];
    });
  }

  private list(items: readonly unknown[], origin: Origin): ListNode {
    return { kind: "list", items: items.map((item) => this.convert(item)), origin };
  }

  private scalar(value: unknown, origin: Origin): Scalar {
    if (value === null || typeof value === "string" || typeof value === "number" || typeof value === "boolean")
      return value;
    this.report(origin, "Only text, numbers, booleans and null can be values here.");
    return null;
  }

  private report(origin: Origin, message: string): void {
    const { file, line, column } = origin as Extract<Origin, { from: "file" }>;
    this.problems.push({ code: "VERL_CONFIG_FILE", message, location: { file, line, column } });
  }

  private originOf(node: unknown): Origin {
    const range = (node as { range?: readonly number[] | null } | null)?.range;
    return this.originAt(range?.[0] ?? 0);
  }
}

const sentence = (message: string): string => `${message[0]?.toLowerCase()}${message.slice(1).replace(/\.?$/, ".")}`;
