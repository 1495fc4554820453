/**
 * Runs the preparation of a run. Who asks to stop ends it, as an error does: nothing has been begun that could be lost.
 * @param ended of the run; aborted then, which closes what was opened on the way
 * @throws the reason of `stop`; what `work` throws
 */
export async function preparing<T>(
  ended: AbortController,
  stop: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  const end = (): void => ended.abort(stop?.reason);
  stop?.addEventListener("abort", end, { once: true });
  try {
    stop?.throwIfAborted();
    return await work();
  } catch (error) {
    ended.abort();
    throw error;
  } finally {
    stop?.removeEventListener("abort", end);
  }
}
