import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { actors, drivers, end, processes, ranks, startCluster, until, type Cluster, type Running } from "./cluster.ts";
import { startNode, Training, type Controller } from "./training.ts";

const CALLER = join(import.meta.dirname, "caller.mjs");
/** Within so many seconds of a kill the loss is told and nothing is left of what was lost. */
const LIMIT_S = 30;
/** A start takes seconds, and on a busy machine many. */
const START_S = 120;
/** Each so-manieth kill hits a training run. */
const TRAINING_EVERY = 10;
const VICTIMS = { rank: ranks, actor: actors, driver: drivers };
type Victim = keyof typeof VICTIMS | "controller";

export interface KillsDone {
  readonly kills: number;
  /** Steps of the training that its killed runs made and saved. */
  readonly steps: number;
  /** Seconds from each kill until all was told and gone, ascending. */
  readonly seconds: readonly number[];
}

/**
 * Kills processes of runs on a Ray cluster, at random moments: most in the calls of a group of ranks, or in its start; some of a training
 * run, which then has to go on from its checkpoint. @throws for a loss that is not told in time, a process that is left, a checkpoint
 * that no run goes on from
 */
export async function killAtRandom(kills: number, seed: number, tell: (line: string) => void): Promise<KillsDone> {
  const cluster = startCluster({ cpus: 4 });
  const folder = mkdtempSync(join(tmpdir(), "verl-kills-"));
  const soak = new Soak(cluster, new Training(folder, cluster), seed, tell);
  try {
    for (let kill = 1; kill <= kills; kill++) {
      if (kill % TRAINING_EVERY === 0) await soak.killTraining(kill);
      else await soak.killCalls(kill);
    }
    return await soak.finish(kills);
  } finally {
    soak.end();
    cluster.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Killed {
  readonly kind: Victim;
  /** All processes of the run at that moment, but the controller. */
  readonly all: readonly Running[];
}

class Soak {
  private readonly seconds: number[] = [];
  private caller: Controller | undefined;
  private trained: Controller | undefined;

  constructor(
    private readonly cluster: Cluster,
    private readonly training: Training,
    private state: number,
    private readonly tell: (line: string) => void,
  ) {}

  /** In calls, or in the start of the ranks. */
  async killCalls(kill: number): Promise<void> {
    this.caller ??= startNode([CALLER, this.cluster.address, this.cluster.python], process.cwd());
    const { caller } = this;
    const told = (): number => caller.output().split("\n").length;
    const inStart = this.random() < 0.25;
    const up = (): boolean => /(^|\n)up\n$/.test(caller.output());
    if (inStart) await until(() => processesOf("driver").length > 0 || caller.exited(), START_S, "a driver");
    else await until(() => up() || caller.exited(), START_S, "ranks that are called");
    await pause(this.random() * (inStart ? 3000 : 500));
    if (caller.exited()) throw new Error(`The caller ended by itself:\n${caller.output()}`);
    const before = told();
    const { kind, all } = this.killOne(caller);
    // The driver stays for the next ranks.
    const lost = kind === "driver" || kind === "controller" ? all : all.filter(({ pid }) => !isDriver(pid));
    // In a start it may have been a process that was not needed any more: what is told then is that the ranks are up.
    await this.ends(kill, { kind, all: lost }, () => caller.exited() || told() > before);
    if (caller.exited()) this.caller = undefined;
  }

  /** A step after the last that was saved shows that the checkpoint was good. */
  async killTraining(kill: number): Promise<void> {
    await this.endCaller();
    await this.trainOn();
    await pause(this.random() * 2000);
    const run = this.trained!;
    await this.ends(kill, this.killOne(run), () => run.exited());
  }

  async finish(kills: number): Promise<KillsDone> {
    await this.endCaller();
    if (this.training.saved > 0) await this.trainOn();
    return { kills, steps: this.training.saved, seconds: this.seconds.sort((a, b) => a - b) };
  }

  end(): void {
    for (const controller of [this.caller, this.trained]) if (controller) end(controller.pid);
  }

  private async trainOn(): Promise<void> {
    const before = this.training.saved;
    const run = (this.trained = this.training.start());
    await until(() => this.training.saved > before || run.exited(), START_S, `a step after ${before}`);
    if (run.exited()) throw new Error(`Training did not go on from step ${before}:\n${run.output()}`);
  }

  private async endCaller(): Promise<void> {
    if (this.caller) end(this.caller.pid);
    this.caller = undefined;
    await until(() => everything().length === 0, LIMIT_S, "nothing is left of the caller");
  }

  /** One that runs, of a kind that does. */
  private killOne(controller: Controller): Killed {
    const kinds = (["rank", "rank", "actor", "driver", "controller"] as const).filter(
      (kind) => kind === "controller" || processesOf(kind).length > 0,
    );
    const killed = { kind: this.oneOf(kinds), all: everything() };
    end(killed.kind === "controller" ? controller.pid : this.oneOf(processesOf(killed.kind)).pid);
    return killed;
  }

  private async ends(kill: number, { kind, all }: Killed, told: () => boolean): Promise<void> {
    const start = Date.now();
    const left = (): string => {
      const same = processes().filter(({ pid }) => all.some((one) => one.pid === pid));
      return same.map(({ pid, words }) => `${pid} ${words}`).join("\n");
    };
    await until(told, LIMIT_S, `kill ${kill}, of a ${kind}, is told`);
    await until(() => left() === "", LIMIT_S, `nothing is left after kill ${kill}, of a ${kind}`).catch(
      (error: Error) => {
        throw new Error(`${error.message}\n${left()}`);
      },
    );
    const seconds = (Date.now() - start) / 1000;
    this.seconds.push(seconds);
    this.tell(`${kill}: ${kind}; all told and gone after ${seconds.toFixed(1)} s`);
  }

  private oneOf<T>(items: readonly T[]): T {
    return items[Math.floor(this.random() * items.length)]!;
  }

  /** In [0, 1), from a linear congruential generator. */
  private random(): number {
    this.state = (this.state * 1664525 + 1013904223) % 2 ** 32;
    return this.state / 2 ** 32;
  }
}

const processesOf = (kind: keyof typeof VICTIMS): Running[] => VICTIMS[kind]();
const isDriver = (pid: number): boolean => drivers().some((driver) => driver.pid === pid);
const everything = (): Running[] => [...ranks(), ...actors(), ...drivers()];
const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));
