/** Seconds of work that a host is given at most: more than its answers may take to be here, so that it need not wait for this thread. */
const AHEAD_S = 0.1;
/** Calls that a host has at most. */
const MOST = 64;

/** How many calls a host is given at once: few wakes of this thread, and yet no host idle at the end while another has a row of them. */
export class Pace {
  /** Of a call, by the last few: a long one counts at once, for the next may be endless, and none should wait behind it. */
  private seconds = Infinity;

  note(seconds: number): void {
    this.seconds = Number.isFinite(this.seconds) ? (this.seconds + seconds) / 2 : seconds;
  }

  /**
   * @param load calls that the host has. @param waiting calls that none has. @param hosts of the pool.
   * @returns calls to give it now; 0: it has enough.
   */
  room(load: number, waiting: number, hosts: number): number {
    const enough = Math.min(MOST, Math.floor(AHEAD_S / this.seconds));
    if (load > enough / 2) return 0;
    const share = Math.ceil(waiting / (2 * hosts));
    return Math.max(load === 0 ? 1 : 0, Math.min(enough - load, share));
  }
}
