import type { Tracker } from "verl";

/** Clears the line that a progress bar on stderr may have left half drawn. */
const CLEAR_LINE = "\r\x1b[2K";

/** What a step's line shows, by name or by prefix; the files have the rest. */
const SHOWN = [
  "val-core/",
  "val/loss",
  "train/loss",
  "critic/score/mean",
  "actor/pg_loss",
  "actor/kl_loss",
  "actor/ppo_kl",
  "actor/entropy",
  "actor/grad_norm",
  "response_length/mean",
  "perf/throughput",
  "timing_s/step",
];

/**
 * verl's console line, `step:4 - critic/score/mean:0.25 - …`, kept to the metrics that one follows a run by. On a terminal, where
 * the progress line tells the rest, only steps with validation results get one.
 */
export class ConsoleTracker implements Tracker {
  log(metrics: Readonly<Record<string, number>>, step: number): void {
    const validated = Object.keys(metrics).some((name) => name.startsWith("val-core/") || name === "val/loss");
    if (process.stdout.isTTY && !validated) return;
    if (process.stderr.isTTY) process.stderr.write(CLEAR_LINE);
    process.stdout.write(`${consoleLine(metrics, step)}\n`);
  }
}

/** The line of a step; all metrics where none of the known ones is among them. */
export function consoleLine(metrics: Readonly<Record<string, number>>, step: number): string {
  const names = Object.keys(metrics);
  const shown = SHOWN.flatMap((wanted) =>
    names.filter((name) => name === wanted || (wanted.endsWith("/") && name.startsWith(wanted))),
  );
  const parts = (shown.length > 0 ? shown : names).map((name) => `${name}:${Number(metrics[name]!.toPrecision(4))}`);
  // Names may come from a dataset; what steers a terminal is not for its lines.
  return [`step:${step}`, ...parts].join(" - ").replace(/\p{Cc}/gu, "?");
}
