/**
 * Finds which of many sequences another one begins with, in the time that reading that one takes: sessions may have many thousands of
 * answers, and one thread serves them all.
 */
export class PrefixIndex<Place> {
  /** By the hashes of their sequences, which may be those of others, too. */
  private readonly places = new Map<number, Place[]>();

  add(sequence: ArrayLike<number>, place: Place): void {
    let hash = 0;
    for (let at = 0; at < sequence.length; at++) hash = hashOf(hash, sequence[at]!);
    const places = this.places.get(hash);
    if (places === undefined) this.places.set(hash, [place]);
    else places.push(place);
  }

  /**
   * What stands for the longest of its beginnings that fits, of equals the latest.
   * @param fits has to look whether the sequence does begin so, as other ones have the same hash
   */
  longest(sequence: ArrayLike<number>, fits: (place: Place) => boolean): Place | undefined {
    const found: Place[][] = [];
    let hash = 0;
    for (let at = 0; at < sequence.length; at++) {
      hash = hashOf(hash, sequence[at]!);
      const places = this.places.get(hash);
      if (places !== undefined) found.push(places);
    }
    for (const places of found.reverse()) {
      const place = places.findLast(fits);
      if (place !== undefined) return place;
    }
    return undefined;
  }

  forget(isGone: (place: Place) => boolean): void {
    for (const [hash, places] of this.places) {
      const left = places.filter((place) => !isGone(place));
      if (left.length === 0) this.places.delete(hash);
      else this.places.set(hash, left);
    }
  }
}

const { imul } = Math;

/** The hash of a sequence with one more number, of FNV's kind. */
const hashOf = (hash: number, next: number): number => (imul(hash ^ next, 0x01000193) + 1) | 0;
