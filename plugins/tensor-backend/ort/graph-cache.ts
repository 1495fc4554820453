import { type CompiledGraph, compileTape } from "./compile.ts";
import type { SessionOptions } from "./session.ts";
import type { Tape } from "./tape.ts";
import type { LazyValue, Values } from "./value.ts";

export interface CacheLimits {
  /** Sessions kept at most. Each has its own thread pool. */
  sessions: number;
  /** Bytes that the kept sessions' arenas may hold together, as far as shapes tell. */
  bytes: number;
}

export interface CacheStats {
  hits: number;
  compiles: number;
  compileMs: number;
  sessions: number;
  bytes: number;
}

interface Entry {
  readonly hash: number;
  readonly signature: Int32Array;
  /** For each leaf: true when its values are an input, false while they are guessed to be constant. */
  readonly varying: boolean[];
  /** The guessed constants, as built into the graph. */
  readonly guesses: (Values | undefined)[];
  wrongGuesses: number;
  graph: CompiledGraph | undefined;
}

/** After this many wrong guesses about one graph all its leaves are inputs: changing scalars cost a few compilations, not one each. */
const PATIENCE = 2;

/**
 * Compiled graphs by structure, the least recently used leave first.
 *
 * Small tensors written from JavaScript (learning rate, epsilon, a position) are first guessed to be constants, which lets
 * onnxruntime fold and fuse them. When one comes with another value it becomes an input, once and for ever.
 */
export class GraphCache {
  /** Entries by hash; a hash shared by several structures has a chain. A map keeps insertion order: oldest first. */
  readonly #chains = new Map<number, Entry[]>();
  /** Least recently used first. */
  readonly #recent = new Set<Entry>();
  readonly stats: CacheStats = { hits: 0, compiles: 0, compileMs: 0, sessions: 0, bytes: 0 };

  constructor(
    readonly limits: CacheLimits,
    readonly options: SessionOptions,
  ) {}

  /** The graph of a closed tape, compiled now if it is new or a guess was wrong. */
  graphOf(tape: Tape, outputs: readonly number[]): CompiledGraph {
    const entry = this.#entryOf(tape);
    if (entry.graph !== undefined && this.#guessesHold(entry, tape.leaves)) {
      this.stats.hits++;
      this.#touch(entry);
      return entry.graph;
    }
    try {
      return this.#compile(entry, tape, outputs);
    } catch (error) {
      this.#evict(entry);
      throw error;
    }
  }

  clear(): void {
    for (const entry of [...this.#recent]) this.#evict(entry);
  }

  #entryOf(tape: Tape): Entry {
    const hash = tape.signature.hash();
    let chain = this.#chains.get(hash);
    if (chain === undefined) this.#chains.set(hash, (chain = []));
    let entry = chain.find((candidate) => tape.signature.equals(candidate.signature));
    if (entry === undefined) {
      entry = {
        hash,
        signature: tape.signature.snapshot(),
        varying: tape.leaves.map((leaf) => !leaf.constant),
        guesses: tape.leaves.map((leaf) => (leaf.constant ? leaf.values : undefined)),
        wrongGuesses: 0,
        graph: undefined,
      };
      chain.push(entry);
    }
    return entry;
  }

  #guessesHold(entry: Entry, leaves: readonly LazyValue[]): boolean {
    const { varying, guesses } = entry;
    let hold = true;
    for (let i = 0; i < leaves.length; i++) {
      if (varying[i] || sameValues(guesses[i]!, leaves[i]!.values!)) continue;
      varying[i] = true;
      hold = false;
    }
    if (!hold && ++entry.wrongGuesses >= PATIENCE) varying.fill(true);
    return hold;
  }

  #compile(entry: Entry, tape: Tape, outputs: readonly number[]): CompiledGraph {
    const start = performance.now();
    this.#release(entry);
    const graph = compileTape(tape, outputs, entry.varying, this.options);
    entry.graph = graph;
    this.stats.sessions++;
    this.stats.bytes += graph.bytes;
    this.#touch(entry);
    const { sessions, bytes } = this.limits;
    for (const old of this.#recent) {
      if (old === entry || (this.stats.sessions <= sessions && this.stats.bytes <= bytes)) break;
      this.#evict(old);
    }
    this.stats.compiles++;
    this.stats.compileMs += performance.now() - start;
    return graph;
  }

  #touch(entry: Entry): void {
    this.#recent.delete(entry);
    this.#recent.add(entry);
  }

  #release(entry: Entry): void {
    if (entry.graph === undefined) return;
    entry.graph.session.dispose();
    this.stats.sessions--;
    this.stats.bytes -= entry.graph.bytes;
    entry.graph = undefined;
  }

  #evict(entry: Entry): void {
    this.#release(entry);
    this.#recent.delete(entry);
    const chain = this.#chains.get(entry.hash)!;
    chain.splice(chain.indexOf(entry), 1);
    if (chain.length === 0) this.#chains.delete(entry.hash);
  }
}

/** Same bits where it matters: NaN equals NaN, and −0 is not 0. */
function sameValues(a: Values, b: Values): boolean {
  for (let i = 0; i < a.length; i++) if (!Object.is(a[i], b[i])) return false;
  return true;
}
