/** Milliseconds that bytes may wait for more, so that their reader, which may have no core of its own, wakes once for several answers. */
const GATHER_MS = 25;
const RING_BYTES = 2 ** 16;

/** Places in the shared state: bytes ever read from the ring and ever written to it, modulo 2³², and whether what is there leaves at once. */
const READ = 0;
const WRITTEN = 1;
const HURRY = 2;

/** What the thread gets that empties the ring. */
export interface OutboxData {
  readonly state: Int32Array;
  readonly ring: Uint8Array;
  readonly fd: number;
  readonly gatherMs: number;
}

/**
 * Bytes on their way to a file, in memory out of which a second thread of the process writes them: even while this thread is in a loop
 * without end. Only where the whole process dies at once, the last of them may be lost.
 */
export class Outbox {
  readonly data: OutboxData;
  private readonly state = new Int32Array(new SharedArrayBuffer(12));
  private readonly ring = new Uint8Array(new SharedArrayBuffer(RING_BYTES));

  constructor(fd: number) {
    this.data = { state: this.state, ring: this.ring, fd, gatherMs: GATHER_MS };
  }

  /** Adds bytes; waits where the ring is full. @param hurry they leave at once. */
  put(bytes: Uint8Array, hurry: boolean): void {
    for (let at = 0; at < bytes.length;) {
      const written = this.state[WRITTEN]!;
      const start = (written >>> 0) % RING_BYTES;
      const room = RING_BYTES - ((written - Atomics.load(this.state, READ)) | 0);
      const part = bytes.subarray(at, at + Math.min(room, RING_BYTES - start));
      this.ring.set(part, start);
      at += part.length;
      Atomics.store(this.state, WRITTEN, (written + part.length) | 0);
      if (room === 0) this.drain();
    }
    if (hurry) this.hurry();
    else Atomics.notify(this.state, WRITTEN);
  }

  /** Waits until all is written. */
  drain(): void {
    for (let read; (read = Atomics.load(this.state, READ)) !== this.state[WRITTEN];) {
      this.hurry();
      Atomics.wait(this.state, READ, read);
    }
  }

  private hurry(): void {
    Atomics.store(this.state, HURRY, 1);
    Atomics.notify(this.state, HURRY);
    Atomics.notify(this.state, WRITTEN);
  }
}

/** Source of `const empty: (waitMs: number) => void`, for the second thread: waits so long for bytes, and writes them out. */
export const EMPTY_OUTBOX = `
const { writeSync } = require("node:fs");
const empty = ({ state, ring, fd, gatherMs }, waitMs) => {
  let read = state[${READ}];
  if (Atomics.wait(state, ${WRITTEN}, read, waitMs) === "timed-out") return;
  Atomics.wait(state, ${HURRY}, 0, gatherMs);
  Atomics.store(state, ${HURRY}, 0);
  const written = Atomics.load(state, ${WRITTEN});
  while (read !== written) {
    const start = (read >>> 0) % ring.length;
    read = (read + writeSync(fd, ring, start, Math.min((written - read) | 0, ring.length - start))) | 0;
    Atomics.store(state, ${READ}, read);
    Atomics.notify(state, ${READ});
  }
};
`;
