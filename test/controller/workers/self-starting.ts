import { isMainThread } from "node:worker_threads";
import { register } from "../../../core/controller/register.ts";
import { ThreadTransport } from "../../../core/controller/thread/thread-transport.ts";
import { Worker } from "../../../core/controller/worker.ts";
import { WorkerGroup } from "../../../core/controller/worker-group.ts";

/** A worker in a program of one file: whoever imports the class runs the program. */
export class SelfStarting extends Worker {
  static override readonly module = import.meta.url;

  @register()
  wait(): Promise<void> {
    return new Promise(() => undefined);
  }

  /** Starts a group of its own, as a worker may. */
  @register()
  async nested(): Promise<string> {
    const group = await WorkerGroup.create(Inner, []);
    const [word] = await group.word();
    await group.dispose();
    return word!;
  }
}

class Inner extends Worker {
  @register()
  word(): Promise<string> {
    return Promise.resolve("inner");
  }
}

async function main(pauseMs?: number): Promise<void> {
  if (pauseMs !== undefined) await new Promise((resolve) => setTimeout(resolve, pauseMs));
  await WorkerGroup.create(SelfStarting, [], { transport: new ThreadTransport() });
}

if (!isMainThread) {
  const how = process.env.TEST_SELF_START;
  if (how === "at once") await main();
  if (how === "later") await main(10);
  if (how === "beside") void main(100);
}
