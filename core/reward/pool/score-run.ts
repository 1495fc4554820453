import type { ScoreCall, Scored } from "../score-call.ts";

/** Calls that are scored together, and what came of them so far. */
export class ScoreRun {
  readonly jobs: readonly Job[];
  /** Resolves with the results in the calls' order. */
  readonly done: Promise<Scored[]>;
  private readonly results: Scored[];
  private open: number;
  private failed = false;
  private resolve!: (results: Scored[]) => void;
  private reject!: (error: Error) => void;

  constructor(calls: readonly ScoreCall[]) {
    this.jobs = calls.map((call, index) => ({ run: this, index, call, suspect: false }));
    this.results = new Array<Scored>(calls.length);
    this.open = calls.length;
    this.done = new Promise((resolve, reject) => Object.assign(this, { resolve, reject }));
    if (this.open === 0) this.resolve([]);
  }

  /** Nothing more is wanted of it. */
  get ended(): boolean {
    return this.failed || this.open === 0;
  }

  settle({ index }: Job, scored: Scored): void {
    this.results[index] = scored;
    if (--this.open === 0) this.resolve(this.results);
  }

  fail(error: Error): void {
    this.failed = true;
    this.reject(error);
  }
}

/** One call of a run. */
export interface Job {
  readonly run: ScoreRun;
  readonly index: number;
  readonly call: ScoreCall;
  /** A host died that may have been at it. */
  suspect: boolean;
}
