/** A promise that knows whether anybody ever waited for it. */
class WatchedCall<T> extends Promise<T> {
  /** What `then` makes is no call. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  awaited = false;

  override then<R = T, E = never>(
    onFulfilled?: ((value: T) => R | PromiseLike<R>) | null,
    onRejected?: ((reason: unknown) => E | PromiseLike<E>) | null,
  ): Promise<R | E> {
    this.awaited = true;
    return super.then(onFulfilled, onRejected);
  }
}

/**
 * The promise of a call, which is its caller's. A failure for which nobody waits when it comes neither ends the process nor is lost.
 * @param lost is told of it, once; who waits later is told as well
 */
export function watchedCall<T>(work: Promise<T>, lost: (error: unknown) => void): Promise<T> {
  const call = new WatchedCall<T>((resolve, reject) => void work.then(resolve, reject));
  const look = (error: unknown): void => {
    // Who is given the promise in this turn may still wait for it in this turn.
    setImmediate(() => {
      if (!call.awaited) lost(error);
    });
  };
  void Promise.prototype.then.call(call, undefined, look);
  return call;
}
