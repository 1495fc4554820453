import { register } from "../../../core/controller/register.ts";
import { Worker, type WorkerContext } from "../../../core/controller/worker.ts";

const wait = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** A worker whose ranks meet early, late or never. */
export class Meeting extends Worker {
  static override readonly module = import.meta.url;

  private readonly known: Promise<number[]>;
  private late: Promise<unknown> | undefined;

  constructor(context: WorkerContext) {
    super(context);
    this.known = this.peers.exchange(this.rank);
  }

  /** What the constructors have exchanged. */
  @register({ dispatchMode: "ONE_TO_ALL" })
  ranks(): Promise<number[]> {
    return this.known;
  }

  @register({ dispatchMode: "ONE_TO_ALL" })
  meet(value: unknown): Promise<unknown[]> {
    return this.peers.exchange([value, this.rank]);
  }

  /** Waits as long as its rank's element says before it exchanges, twice. */
  @register({ dispatchMode: "ONE_TO_ALL", blocking: false })
  async meetBeside(value: string, delays: readonly number[]): Promise<string> {
    await wait(delays[this.rank]!);
    const first = await this.peers.exchange(value + this.rank);
    await wait(delays[this.rank]!);
    const second = await this.peers.exchange(value.toUpperCase() + this.rank);
    return [...first, ...second].join(" ");
  }

  /** Adds up `length` times 1, 2, 3 …, of which each rank brings a part that is its own, several times over. */
  @register({ dispatchMode: "ONE_TO_ALL", blocking: false })
  async sumBeside(factor: number, length: number, delays: readonly number[]): Promise<number[]> {
    const sums: number[] = [];
    for (let round = 1; round <= 3; round++) {
      const values = new Float32Array(length).fill(factor * round * (this.rank + 1));
      await wait(delays[this.rank]!);
      await this.peers.sum(values);
      const [first] = values;
      sums.push(values.every((value) => value === first) ? first! : NaN);
    }
    return sums;
  }

  @register({ dispatchMode: "ONE_TO_ALL" })
  ping(): Promise<string> {
    return Promise.resolve("pong");
  }

  @register({ dispatchMode: "ONE_TO_ALL", blocking: false })
  pingBeside(): Promise<string> {
    return Promise.resolve("pong");
  }

  /** The last rank fails; the others bring something so much later. */
  @register({ dispatchMode: "ONE_TO_ALL" })
  async half(delay: number): Promise<void> {
    if (this.rank === this.worldSize - 1) throw new RangeError("no such layer");
    await wait(delay);
    await this.peers.exchange("never");
  }

  @register({ dispatchMode: "ONE_TO_ALL", blocking: false })
  halfBeside(delay: number): Promise<void> {
    return this.half(delay);
  }

  /** Like `half`, of so many elements, after a sum that succeeds. */
  @register({ dispatchMode: "ONE_TO_ALL" })
  async halfSum(length: number): Promise<void> {
    await this.peers.sum(new Float32Array(length));
    if (this.rank === this.worldSize - 1) throw new RangeError("no such layer");
    await this.peers.sum(new Float32Array(length * 2));
  }

  /** Exchanges as often as its rank's element says, each time so much later; 0 elements are exchanged, others added up. */
  @register({ dispatchMode: "ONE_TO_ALL" })
  async meetOften(times: readonly number[], delays: readonly number[], length = 0): Promise<string> {
    for (let time = 0; time < times[this.rank]!; time++) {
      await wait(delays[this.rank]!);
      await (length === 0 ? this.peers.exchange(time) : this.peers.sum(new Float32Array(length)));
    }
    return "met";
  }

  /** As `meetOften`; what it fails with is the result. */
  @register({ dispatchMode: "ONE_TO_ALL" })
  calmly(times: readonly number[], delays: readonly number[], length = 0): Promise<string> {
    return this.meetOften(times, delays, length).catch((error: Error) => error.message);
  }

  /** Begins so many sums and an exchange without waiting for any: what comes of them. */
  @register({ dispatchMode: "ONE_TO_ALL" })
  async sumAtOnce(count: number, length: number, delay: number): Promise<unknown[]> {
    await wait(delay * this.rank);
    const arrays = Array.from({ length: count }, (_, index) =>
      new Float32Array(length).fill((this.rank + 1) * 10 ** index),
    );
    const sums = Promise.all(arrays.map((values) => this.peers.sum(values)));
    const met = await this.peers.exchange(this.rank);
    await sums;
    return [...met, ...arrays.map((values) => (values.every((value) => value === values[0]) ? values[0] : NaN))];
  }

  /** The first rank waits for no sum; the others wait for theirs, which fail where the first has gone before its part is done. */
  @register({ dispatchMode: "ONE_TO_ALL" })
  async leaveSum(length: number, delay: number): Promise<string> {
    if (this.rank > 0) await wait(delay);
    const sum = this.peers.sum(new Float32Array(length));
    return this.rank > 0
      ? sum.then(
          () => "summed",
          (error: Error) => error.message,
        )
      : "left";
  }

  /** The first rank does not wait for its exchange, the others come to it later. */
  @register({ dispatchMode: "ONE_TO_ALL" })
  async leaveBehind(delay: number): Promise<unknown[]> {
    if (this.rank > 0) await wait(delay);
    const met = this.peers.exchange(this.rank);
    return this.rank > 0 ? met : [];
  }

  /** Exchanges once more after what cannot be exchanged. */
  @register({ dispatchMode: "ONE_TO_ALL" })
  async meetAgain(): Promise<unknown[]> {
    const work = (): number => 1;
    if (this.rank === 0) await this.peers.exchange(work).catch(() => undefined);
    return this.peers.exchange(this.rank);
  }

  @register({ dispatchMode: "ONE_TO_ALL", executeMode: "RANK_ZERO" })
  meetAlone(): Promise<unknown[]> {
    return this.peers.exchange(0);
  }

  /** Exchanges once the method has returned; what comes of it is told by `afterwards`. */
  @register({ dispatchMode: "ONE_TO_ALL" })
  leave(): Promise<void> {
    this.late = wait(50).then(() => this.peers.exchange(this.rank));
    this.late.catch(() => undefined);
    return Promise.resolve();
  }

  @register({ dispatchMode: "ONE_TO_ALL" })
  afterwards(): Promise<string> {
    return this.late!.then(String, (error: Error) => error.message);
  }
}
