import { register, Worker } from "verl";

/** A stand-in for a language model, so that the example needs none: what matters is which rank answers which prompt. */
interface Model {
  readonly path: string;
  answer(prompt: string): string;
}

/** One replica of a model. The controller loads all of them at once and spreads prompts over them. */
export class LLMWorker extends Worker {
  // Where a rank's own thread or process imports the class from.
  static override readonly module = import.meta.url;

  private model: Model | undefined;

  /** Every rank loads the same model. */
  @register({ dispatchMode: "ONE_TO_ALL" })
  load_model(path: string): Promise<string> {
    this.model = { path, answer: (prompt) => `${path}[${this.rank}] heard "${prompt}"` };
    return Promise.resolve(`rank ${this.rank} of ${this.worldSize} has loaded ${path}`);
  }

  /** Answers this rank's share of the prompts; the mode joins the shares again. */
  @register({ dispatchMode: "LIST_SPLIT" })
  infer(prompts: readonly string[]): Promise<string[]> {
    const { model } = this;
    if (!model) throw new Error("load_model comes first");
    return Promise.resolve(prompts.map((prompt) => model.answer(prompt)));
  }
}
