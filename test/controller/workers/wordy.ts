import type { Listener } from "../../../core/controller/listener.ts";
import { register } from "../../../core/controller/register.ts";
import { Worker, type WorkerContext } from "../../../core/controller/worker.ts";

const text = (length: number): string => "x".repeat(length);

/** A worker that takes, says and throws as many words as it is told, and ends only if it may. */
export class Wordy extends Worker {
  static override readonly module = import.meta.url;

  constructor(
    context: WorkerContext,
    private readonly mayEnd: boolean,
    readonly words = "",
  ) {
    super(context);
    if (words === "throw") throw new Error(text(100_000));
  }

  @register({ dispatchMode: "ONE_TO_ALL" })
  take(words: string): Promise<number> {
    return Promise.resolve(words.length);
  }

  @register({ dispatchMode: "ONE_TO_ALL" })
  give(length: number): Promise<string> {
    return Promise.resolve(text(length));
  }

  @register({ dispatchMode: "ONE_TO_ALL" })
  async exchange(length: number): Promise<number> {
    return (await this.peers.exchange(text(length))).join("").length;
  }

  @register({ dispatchMode: "ONE_TO_ALL" })
  throw(length: number): Promise<void> {
    return Promise.reject(new Error(text(length)));
  }

  @register({ dispatchMode: "ONE_TO_ALL" })
  tell(listener: Listener, length: number): Promise<void> {
    listener.tell(text(length));
    return Promise.resolve();
  }

  @register({ dispatchMode: "ONE_TO_ALL" })
  log(length: number): Promise<string> {
    this.logger.info(text(length));
    return Promise.resolve("done");
  }

  override async dispose(): Promise<void> {
    if (!this.mayEnd) await new Promise(() => undefined);
  }
}
