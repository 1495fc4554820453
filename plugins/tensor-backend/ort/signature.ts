const strings = new Map<string, number>();
const float = new Float64Array(1);
const floatWords = new Int32Array(float.buffer);

/**
 * The structure of a recorded tape as a run of 32-bit words: same words, same graph.
 * It is written while recording, so that looking a graph up walks no graph.
 */
export class Signature {
  #words = new Int32Array(1 << 14);
  #length = 0;

  clear(): void {
    this.#length = 0;
  }

  word(value: number): void {
    if (this.#length === this.#words.length) this.#grow();
    this.#words[this.#length++] = value;
  }

  list(values: readonly number[]): void {
    this.word(values.length);
    for (let i = 0; i < values.length; i++) this.number(values[i]!);
  }

  /** Small integers take one word, everything else three. */
  number(value: number): void {
    if (value === (value | 0) && value < FLOAT_MARK && !Object.is(value, -0)) return this.word(value);
    float[0] = value;
    this.word(FLOAT_MARK);
    this.word(floatWords[0]!);
    this.word(floatWords[1]!);
  }

  string(value: string): void {
    let id = strings.get(value);
    if (id === undefined) strings.set(value, (id = strings.size));
    this.word(id);
  }

  hash(): number {
    const words = this.#words;
    let hash = 0x811c9dc5;
    for (let i = 0; i < this.#length; i++) {
      hash = Math.imul(hash ^ words[i]!, 0x01000193);
      hash ^= hash >>> 15;
    }
    return hash;
  }

  equals(other: Int32Array): boolean {
    if (other.length !== this.#length) return false;
    for (let i = 0; i < other.length; i++) if (other[i] !== this.#words[i]) return false;
    return true;
  }

  snapshot(): Int32Array {
    return this.#words.slice(0, this.#length);
  }

  #grow(): void {
    const larger = new Int32Array(2 * this.#words.length);
    larger.set(this.#words);
    this.#words = larger;
  }
}

const FLOAT_MARK = 0x7fffffff;
