import * as tf from "@tensorflow/tfjs";
import { formatError } from "../../errors/index.ts";
import { loadPlugins, registries } from "../../registry/index.ts";
import { activateBackend } from "../../tensor/index.ts";
import type { Check } from "./check.ts";

/** Every tensor backend with why it can or cannot run here, and whether the one that a run would take computes. */
export async function checkBackends(configured: string | null): Promise<Check[]> {
  await loadPlugins([]);
  const checks: Check[] = [];
  for (const [key, backend] of registries.tensor_backend.entries()) {
    const reason = await backend.unavailable().catch((error: unknown) => formatError(error));
    checks.push({ name: `backend ${key}`, state: reason === undefined ? "ok" : "note", detail: reason ?? "usable" });
  }
  return [...checks, await checkArithmetic(configured)];
}

async function checkArithmetic(configured: string | null): Promise<Check> {
  const name = "arithmetic";
  try {
    const { key } = await activateBackend(configured);
    const product = tf.tidy(() => tf.matMul([[1, 2]], [[3], [4]]));
    const [value] = await product.data();
    product.dispose();
    if (value === 11) return { name, state: "ok", detail: `on ${key}, which a run takes` };
    return {
      name,
      state: "fail",
      detail: `${key} computes 1·3 + 2·4 = ${value}`,
      fix: "Choose another `tensor_backend`.",
    };
  } catch (error) {
    return { name, state: "fail", detail: "no backend computes", fix: formatError(error) };
  }
}
