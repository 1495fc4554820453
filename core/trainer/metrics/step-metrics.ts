import { VerlError } from "../../errors/verl-error.ts";
import { reductionOf, type Reduction } from "./reductions.ts";

interface Cell {
  reduction: Reduction;
  value: number;
  count: number;
}

/** Collects the metrics of one step. Values added under one name are reduced by `reductionOf(name)`, or as `add` was told. */
export class StepMetrics {
  #cells = new Map<string, Cell>();
  #seconds = new Map<string, number>();

  /** @throws VERL_METRIC_REDUCTION when the name was added with another reduction in this step. */
  add(name: string, value: number, reduction: Reduction = reductionOf(name)): void {
    const cell = this.#cells.get(name);
    if (!cell) {
      this.#cells.set(name, { reduction, value, count: 1 });
      return;
    }
    if (cell.reduction !== reduction) {
      throw new VerlError(
        "VERL_METRIC_REDUCTION",
        `Metric "${name}" was added with the reduction ${cell.reduction} and now with ${reduction}.`,
        { hint: "Give one reduction for the name wherever it is added, or use two names." },
      );
    }
    cell.count += 1;
    if (reduction === "max") cell.value = Math.max(cell.value, value);
    else if (reduction === "min") cell.value = Math.min(cell.value, value);
    else cell.value += value;
  }

  addAll(metrics: Readonly<Record<string, number>>): void {
    for (const [name, value] of Object.entries(metrics)) this.add(name, value);
  }

  /** Times a phase: `await metrics.timer("gen")(() => generate())`. Repeated and failing runs accumulate. */
  timer(name: string): <T>(run: () => T | Promise<T>) => Promise<T> {
    return async (run) => {
      const start = performance.now();
      try {
        return await run();
      } finally {
        this.#seconds.set(name, (this.#seconds.get(name) ?? 0) + (performance.now() - start) / 1000);
      }
    };
  }

  /** Seconds of each timer so far, by its bare name. */
  timings(): Record<string, number> {
    return Object.fromEntries(this.#seconds);
  }

  /** The step's values, timers as `timing_s/<name>`; the collector is empty afterwards. */
  finish(): Record<string, number> {
    const result: Record<string, number> = {};
    for (const [name, { reduction, value, count }] of this.#cells)
      result[name] = reduction === "mean" ? value / count : value;
    for (const [name, seconds] of this.#seconds) result[`timing_s/${name}`] = seconds;
    this.#cells = new Map();
    this.#seconds = new Map();
    return result;
  }
}
