import { loadPlugins } from "../../registry/index.ts";
import type { Check } from "./check.ts";
import { probeBackends, type BackendProbe } from "./probe-backends.ts";

/** Every tensor backend with why it can or cannot run here, and whether the one that a run would take computes. */
export async function checkBackends(configured: string | null): Promise<Check[]> {
  await loadPlugins([]);
  const { reasons, arithmetic } = await probeBackends(undefined, { backend: configured });
  const checks = [...reasons].map(([key, reason]): Check => {
    return { name: `backend ${key}`, state: reason === undefined ? "ok" : "note", detail: reason ?? "usable" };
  });
  return [...checks, checkArithmetic(arithmetic!)];
}

/** 1·3 + 2·4. */
const PRODUCT = 11;

function checkArithmetic(result: NonNullable<BackendProbe["arithmetic"]>): Check {
  const name = "arithmetic";
  if ("failed" in result) return { name, state: "fail", detail: "no backend computes", fix: result.failed };
  const { key, value } = result;
  if (value === PRODUCT) return { name, state: "ok", detail: `on ${key}, which a run takes` };
  return {
    name,
    state: "fail",
    detail: `${key} computes 1·3 + 2·4 = ${value}`,
    fix: "Choose another `tensor_backend`.",
  };
}
