import { expect } from "@jest/globals";
import type { VerlError } from "../../core/errors/index.ts";

/** What a call fails with, which it must. */
export async function failure(call: Promise<unknown>): Promise<VerlError> {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeDefined();
  return error as VerlError;
}
