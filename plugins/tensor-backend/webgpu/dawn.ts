/// <reference types="@webgpu/types" />
import { createRequire } from "node:module";
import type * as Dawn from "webgpu";

const require = createRequire(import.meta.url);
const PACKAGE = "webgpu";

export interface AdapterChoice {
  /** Part of the adapter's name; undefined: the system's first choice. */
  adapter?: string;
}

export interface OpenDevice {
  readonly device: GPUDevice;
  readonly info: GPUAdapterInfo;
}

/** Where Dawn's GPU objects are kept: once one is collected, Dawn ends the process. */
const KEPT = Symbol.for("verl.webgpu.kept");
const kept = ((globalThis as { [KEPT]?: GPU[] })[KEPT] ??= []);

/** What WebGPU programs expect to find as globals in a browser. */
function provideGlobals(gpu: GPU, globals: object): void {
  for (const [name, value] of Object.entries(globals)) {
    if (!(name in globalThis)) Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  }
  const scope = globalThis as { navigator?: object };
  if (scope.navigator === undefined) Object.defineProperty(scope, "navigator", { value: {}, configurable: true });
  Object.defineProperty(scope.navigator, "gpu", { value: gpu, configurable: true });
}

/** Thrown for what a user can mend: a missing package, library or adapter. Its message is a reason and a remedy. */
export class NoDevice extends Error {}

async function load(): Promise<typeof Dawn> {
  try {
    require.resolve(PACKAGE);
  } catch {
    throw new NoDevice(`the package ${PACKAGE} is not installed. Run \`npm install ${PACKAGE}\`.`);
  }
  try {
    return (await import(PACKAGE)) as typeof Dawn;
  } catch (cause) {
    const [firstLine] = String((cause as Error).message).split("\n", 1);
    throw new NoDevice(
      `${PACKAGE}'s binary for ${process.platform}-${process.arch} does not load (${firstLine}). On Linux it needs glibc.`,
    );
  }
}

async function findAdapter({ adapter }: AdapterChoice): Promise<GPUAdapter> {
  const { create, globals } = await load();
  // Timestamps are coarse on purpose, for web pages' sake; here they measure kernels.
  const gpu = create([
    "disable-dawn-features=timestamp_quantization",
    ...(adapter === undefined ? [] : [`adapter=${adapter}`]),
  ]);
  kept.push(gpu);
  provideGlobals(gpu, globals);
  // Dawn throws, rather than giving null, where no adapter has the wanted name.
  const found = await gpu.requestAdapter({ powerPreference: "high-performance" }).catch(() => null);
  if (found !== null) return found;
  const which = adapter === undefined ? "no GPU adapter" : `no GPU adapter whose name contains "${adapter}"`;
  const remedy =
    process.platform === "linux"
      ? " It takes a Vulkan driver and its loader (Debian: `apt-get install libvulkan1`); VK_ICD_FILENAMES may name the driver."
      : "";
  throw new NoDevice(`${PACKAGE} finds ${which}.${remedy}`);
}

let looked: { choice: string; adapter: Promise<GPUAdapter> } | undefined;

/** The adapter of that choice; looked for once. An adapter gives one device. @throws NoDevice */
export function adapterOf(choice: AdapterChoice = {}): Promise<GPUAdapter> {
  const key = choice.adapter ?? "";
  if (looked?.choice !== key) looked = { choice: key, adapter: findAdapter(choice) };
  return looked.adapter;
}

/** Used where the adapter has them. */
const FEATURES = ["timestamp-query", "subgroups", "shader-f16"] as const;

/** A device with all that its adapter can: every limit, and the features that kernels use. @throws NoDevice */
export async function openDevice(choice: AdapterChoice = {}): Promise<OpenDevice> {
  const adapter = await adapterOf(choice);
  looked = undefined;
  const requiredLimits: Record<string, number> = {};
  // Limits are getters of the prototype.
  for (const name in adapter.limits) {
    const value = adapter.limits[name as keyof GPUSupportedLimits];
    if (typeof value === "number") requiredLimits[name] = value;
  }
  const requiredFeatures = FEATURES.filter((feature) => adapter.features.has(feature)) as GPUFeatureName[];
  const device = await adapter.requestDevice({ requiredFeatures, requiredLimits });
  return { device, info: (adapter as { info: GPUAdapterInfo }).info };
}
