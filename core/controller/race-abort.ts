/** The first of the promises to settle. @throws the signal's reason, where it is aborted before */
export async function raceAbort<T>(signal: AbortSignal, ...promises: readonly Promise<T>[]): Promise<T> {
  signal.throwIfAborted();
  let abort!: () => void;
  const aborted = new Promise<never>((_, reject) => (abort = (): void => reject(signal.reason as Error)));
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([...promises, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
