/** Smaller blocks cost less to make than to keep. */
const MIN_BYTES = 1 << 20;
const MAX_BLOCKS = 8;
/** A block serves requests down to this part of it. */
const MIN_USE = 0.75;

/**
 * Large blocks of memory that were sent and whose bytes nobody reads any more. The first touch of fresh memory costs more than the
 * copy of what is put there, and batches of a run have few sizes.
 */
export class BufferPool {
  private readonly blocks: ArrayBuffer[] = [];

  /** Bytes with any contents, at the start of a block. */
  take(bytes: number): Uint8Array {
    if (bytes < MIN_BYTES) return new Uint8Array(bytes);
    const fits = ({ byteLength }: ArrayBuffer): boolean => byteLength >= bytes && byteLength * MIN_USE <= bytes;
    const found = this.blocks.findIndex(fits);
    const block = found < 0 ? Buffer.allocUnsafeSlow(bytes).buffer : this.blocks.splice(found, 1)[0]!;
    return new Uint8Array(block, 0, bytes);
  }

  /** Takes over a block that its owner has given away; parts of a larger block are left to the garbage collector. */
  giveBack({ buffer, byteOffset, byteLength }: Uint8Array): void {
    if (!(buffer instanceof ArrayBuffer) || byteOffset !== 0 || byteLength < MIN_BYTES) return;
    if (byteLength < buffer.byteLength * MIN_USE || this.blocks.includes(buffer)) return;
    this.blocks.push(buffer);
    if (this.blocks.length > MAX_BLOCKS) this.blocks.shift();
  }
}

/** The process's own. */
export const bufferPool = new BufferPool();
