import type { Worker, WorkerClass } from "./worker.ts";

/** One worker as the controller sees it, wherever it lives. */
export interface WorkerHandle {
  call(method: string, args: readonly unknown[]): Promise<unknown>;
  dispose(): Promise<void>;
}

/** Starts workers and carries calls to them. */
export interface Transport {
  spawn<W extends Worker, Args extends unknown[]>(
    workerClass: WorkerClass<W, Args>,
    args: Args,
    worldSize: number,
  ): Promise<readonly WorkerHandle[]>;
}

/** Workers in the controller's own thread: nothing is copied, and a debugger steps straight into them. */
export const inlineTransport: Transport = {
  spawn(workerClass, args, worldSize) {
    return Promise.resolve(
      Array.from({ length: worldSize }, (_, rank): WorkerHandle => {
        const worker = new workerClass({ rank, worldSize }, ...args);
        const methods = worker as unknown as Record<string, (...values: readonly unknown[]) => Promise<unknown>>;
        return {
          call: async (method, values) => methods[method]!(...values),
          dispose: async () => worker.dispose(),
        };
      }),
    );
  },
};
