import { setTimeout as sleep } from "node:timers/promises";

/** Waits. @param ms milliseconds. @throws the reason of `signal`, where `sleep` would only say that it was aborted. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal });
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
}
