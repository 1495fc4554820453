import * as tf from "@tensorflow/tfjs";
import type { TensorBackend } from "verl";
import { registerWebGpuKernels } from "../../kernel/webgpu/register.ts";
import { registerGradients } from "../gradients.ts";
import { addManyInTurns } from "./add-many.ts";
import { createBackend, isInstalled, PACKAGE } from "./backend.ts";
import { adapterOf, NoDevice, openDevice, type AdapterChoice } from "./dawn.ts";

const NAME = "webgpu";

/** tfjs' WebGPU kernels and ours on Dawn. Optional packages: they are loaded when this backend is asked for. */
export const webgpu: TensorBackend = {
  description: "Kernels on a GPU of any vendor, through Dawn (Vulkan, Metal or Direct3D 12).",
  tfjsName: NAME,

  async unavailable({ adapter } = {}) {
    if (!isInstalled())
      return `the package ${PACKAGE} is not installed. Run \`npm install ${PACKAGE}@${tf.version_core}\`.`;
    if (registered) return undefined;
    try {
      await adapterOf({ adapter });
      return undefined;
    } catch (error) {
      if (error instanceof NoDevice) return error.message;
      throw error;
    }
  },

  async activate({ adapter }) {
    await registerWebGpu({ adapter });
    await tf.setBackend(NAME);
  },
};

let registered: Promise<void> | undefined;

/** Opens the device and tells tfjs of it, on the first call. The choice counts then, and not later. @throws NoDevice */
export function registerWebGpu(choice: AdapterChoice = {}): Promise<void> {
  registered ??= register(choice).catch((error: unknown) => {
    registered = undefined;
    throw error;
  });
  return registered;
}

async function register(choice: AdapterChoice): Promise<void> {
  const backend = createBackend(await openDevice(choice));
  // The package registers a backend of its own when it is loaded, with a device that knows no subgroups.
  tf.removeBackend(NAME);
  tf.registerBackend(NAME, () => backend);
  addManyInTurns(NAME);
  registerWebGpuKernels(NAME);
  registerGradients();
}
