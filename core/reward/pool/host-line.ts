import type { Scored } from "../score-call.ts";
import { openLane, type Isolation, type Lane, type LaneEnd } from "./lane.ts";
import type { FromHost, HostError, HostSetup } from "./messages.ts";
import { hostError, notReady } from "./pool-errors.ts";
import type { Job } from "./score-run.ts";

/** Seconds that a host has to load plugins and functions. */
const START_S = 60;
/** Seconds after its deadline in which a function that listens to its signal may still end the call itself. */
const GRACE_S = 0.25;

export interface LineEvents {
  scored(job: Job, scored: Scored): void;
  /** The host could not call the function. */
  failed(job: Job, error: HostError): void;
  /** The host died, or did not answer in time: it is of no use any more. */
  ended(why: LaneEnd): void;
}

/** A host and the calls that it was given: the first is under way, the others wait there in order. */
export class HostLine {
  private readonly lane: Lane;
  private readonly jobs: Job[] = [];
  private began = 0;
  private timer: NodeJS.Timeout | undefined;
  /** Waits for the host to be ready. */
  private starting: ((answer: FromHost | LaneEnd) => void) | undefined;

  /** @param seconds that a call may take, from its turn on. */
  constructor(
    isolation: Isolation,
    memoryLimitMb: number,
    private readonly seconds: number,
    private readonly events: LineEvents,
  ) {
    this.lane = openLane(isolation, memoryLimitMb, {
      message: (message) => (this.starting ?? this.answered)(message),
      end: (why) => (this.starting ?? this.events.ended)(why),
    });
  }

  /** Calls that are not answered. */
  get load(): number {
    return this.jobs.length;
  }

  /** The call under way. */
  get current(): Job | undefined {
    return this.jobs[0];
  }

  /** Seconds since the call under way had its turn. */
  get elapsed(): number {
    return (performance.now() - this.began) / 1000;
  }

  /** What the host was given is still on its way: more would only fill this process's memory. */
  get clogged(): boolean {
    return this.lane.clogged;
  }

  /** Has the host load its functions. @throws VerlError of a host that cannot, or does not in time. */
  async start(setup: HostSetup): Promise<void> {
    const answer = await new Promise<FromHost | LaneEnd>((resolve) => {
      this.starting = resolve;
      const late = { kind: "timeout", detail: `it was not ready after ${START_S} s` } as const;
      this.timer = setTimeout(() => resolve(late), START_S * 1000);
      this.lane.post({ setup });
    });
    this.starting = undefined;
    clearTimeout(this.timer);
    if ("failed" in answer) throw hostError(answer.failed);
    if ("kind" in answer) throw notReady(answer.detail);
  }

  /** Adds a call to the line. @throws when it cannot be handed on; the host knows nothing of it then. */
  give(job: Job): void {
    this.lane.post({ call: job.call, seconds: this.seconds });
    if (this.jobs.push(job) > 1) return;
    this.began = performance.now();
    this.timer = setTimeout(() => this.overdue(), (this.seconds + GRACE_S) * 1000);
  }

  /** Takes back the call under way, which is no longer waited for. */
  takeNext(): Job | undefined {
    this.began = performance.now();
    return this.jobs.shift();
  }

  /** Makes suspects of all calls. */
  suspect(): void {
    for (const job of this.jobs) job.suspect = true;
  }

  /** Takes back all calls, the one under way first. */
  takeBack(): Job[] {
    clearTimeout(this.timer);
    return this.jobs.splice(0);
  }

  /** Ends the host, whatever it does. */
  async kill(): Promise<void> {
    this.starting?.({ kind: "error", detail: "the pool has ended" });
    await this.lane.kill();
  }

  private readonly answered = (message: FromHost): void => {
    const job = this.takeNext();
    if (job === undefined) return; // It was taken back.
    if (this.jobs.length === 0) clearTimeout(this.timer);
    else this.timer!.refresh();
    if ("scored" in message) this.events.scored(job, message.scored);
    else if ("failed" in message) this.events.failed(job, message.failed);
  };

  /** Where this thread was busy, the answer may be here already: what has arrived is read before the host is given up. */
  private overdue(): void {
    const late = this.current;
    const check = (): void => {
      if (late === undefined || late !== this.current) return;
      this.events.ended({ kind: "timeout", detail: `timed out after ${this.seconds} s` });
    };
    setImmediate(() => setImmediate(check));
  }
}
