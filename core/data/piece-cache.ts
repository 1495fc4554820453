/** Pieces that one generation holds. */
const CAPACITY = 10_000;

/**
 * What a BPE model has made of the pieces of text that it met lately, in two generations: when the younger one is full, the older goes. The
 * package's own cache moves a piece to the end of its map each time that it is asked for, which is most of the time of tokenising.
 */
export class PieceCache {
  private young = new Map<string, string[]>();
  private old = new Map<string, string[]>();

  get(piece: string): string[] | undefined {
    const tokens = this.young.get(piece);
    if (tokens !== undefined) return tokens;
    const older = this.old.get(piece);
    if (older !== undefined) this.put(piece, older);
    return older;
  }

  put(piece: string, tokens: string[]): void {
    if (this.young.size >= CAPACITY) {
      this.old = this.young;
      this.young = new Map();
    }
    this.young.set(piece, tokens);
  }

  clear(): void {
    this.young.clear();
    this.old.clear();
  }
}
