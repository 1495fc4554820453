/// <reference types="@webgpu/types" />
import { createRequire } from "node:module";
import type * as Package from "@tensorflow/tfjs-backend-webgpu";
import { VerlError } from "verl";
import type { OpenDevice } from "./dawn.ts";

const require = createRequire(import.meta.url);
export const PACKAGE = "@tensorflow/tfjs-backend-webgpu";

/** True when the package can be loaded. */
export function isInstalled(): boolean {
  try {
    require.resolve(PACKAGE);
    return true;
  } catch {
    return false;
  }
}

export type WebGpuBackend = Package.WebGPUBackend;

/**
 * tfjs' backend on a device of Dawn, which fails where tfjs would go on with wrong numbers: after the device is lost, after an error
 * that the device reported (out of memory, say), and on synchronous reads, for which Node has no means.
 *
 * The device's globals must be there already: tfjs looks for `navigator.gpu` when the package is loaded.
 */
export function createBackend({ device, info }: OpenDevice): WebGpuBackend {
  // Required, not imported: only so it shares tfjs-core with @tensorflow/tfjs.
  const { WebGPUBackend } = require(PACKAGE) as typeof Package;

  class DawnBackend extends WebGPUBackend {
    #failure: VerlError | undefined;

    constructor() {
      super(device, info);
      void device.lost.then(({ reason, message }) => {
        this.#failure ??= failure(`The GPU device was lost (${reason}): ${firstLine(message)}`);
      });
      device.addEventListener("uncapturederror", (event) => {
        event.preventDefault();
        this.#failure ??= failure(`The GPU reported an error: ${firstLine(event.error.message)}`);
      });
    }

    override write(...args: Parameters<WebGpuBackend["write"]>): object {
      this.#requireDevice();
      return super.write(...args);
    }

    override readSync(dataId: object): ReturnType<WebGpuBackend["readSync"]> {
      const { values } = this.tensorMap.get(dataId);
      if (values) return values;
      throw new VerlError("VERL_TENSOR_SYNC_READ", "A tensor on the GPU cannot be read synchronously.", {
        hint: "Read it by `await tensor.data()`. A loss or metric returns tensors, and the trainer reads them.",
      });
    }

    override async read(dataId: object): ReturnType<WebGpuBackend["read"]> {
      this.#requireDevice();
      try {
        const values = await super.read(dataId);
        this.#requireDevice();
        return values;
      } catch (cause) {
        // Dawn tells of the loss a turn later than of the read that failed by it.
        await new Promise(setImmediate);
        this.#requireDevice();
        throw cause;
      }
    }

    #requireDevice(): void {
      if (this.#failure) throw this.#failure;
    }
  }
  return new DawnBackend();
}

function failure(message: string): VerlError {
  return new VerlError("VERL_TENSOR_DEVICE_LOST", message, {
    hint: "Tensors on it are gone or wrong. Resume from the last checkpoint; smaller micro-batches need less memory.",
  });
}

const firstLine = (message: string): string => message.split("\n", 1)[0] || "no reason was given.";
