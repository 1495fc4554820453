/**
 * Runs the preparation of a run. Who asks to stop meanwhile ends what it waits for, as an error does: nothing has been begun that could be
 * lost. A run that was to stop before is prepared, and tells of step 0.
 * @param ended of the run; aborted then, which closes what was opened on the way
 * @throws the reason of `stop`, by what was waited for; what `work` throws
 */
export async function preparing<T>(
  ended: AbortController,
  stop: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  const end = (): void => ended.abort(stop?.reason);
  stop?.addEventListener("abort", end, { once: true });
  try {
    return await work();
  } catch (error) {
    ended.abort();
    throw error;
  } finally {
    stop?.removeEventListener("abort", end);
  }
}
