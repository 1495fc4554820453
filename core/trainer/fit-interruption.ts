/** How a run is asked to stop: after the step under way first, at once when asked again. */
export class Interruption {
  private readonly controller = new AbortController();
  private asked = false;

  /** True from the first `request` on: the step under way is the last. */
  get requested(): boolean {
    return this.asked;
  }

  /** Aborted by the second `request`: what is under way is abandoned. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Asks to stop, or, when that was asked before, to stop at once. */
  request(): "after_step" | "now" {
    if (!this.asked) {
      this.asked = true;
      return "after_step";
    }
    this.controller.abort();
    return "now";
  }
}
