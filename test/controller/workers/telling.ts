import { DataProto } from "../../../core/batch/data-proto.ts";
import type { Listener } from "../../../core/controller/listener.ts";
import { register } from "../../../core/controller/register.ts";
import { Worker } from "../../../core/controller/worker.ts";
import { VerlError } from "../../../core/errors/index.ts";

const circle: Record<string, unknown> = { name: "round" };
circle["self"] = circle;

/** What may be told of by mistake, by name. */
const TOLD: Readonly<Record<string, () => unknown>> = {
  plain: () => ({ step: 3, of: [1, "two", null, true] }),
  function: () => ({ work: () => undefined }),
  bigint: () => ({ rows: 5n }),
  circle: () => circle,
  batch: () => ({ batch: DataProto.fromSingleDict({ ids: Int32Array.of(1, 2, 3) }) }),
  numbers: () => ({ loss: NaN, top: Infinity, ids: Float32Array.of(1, 2) }),
  map: () => ({ by: new Map([["a", 1]]), at: new Date(0), symbol: Symbol("sign") }),
  getter: () => ({
    get loss(): number {
      throw new Error("no look");
    },
  }),
  error: () => ({ cause: new RangeError("no such layer") }),
  nothing: () => undefined,
  value: () => 3n,
  text: () => "3",
  odd: () => Symbol("sign"),
  work: () => () => undefined,
};

/** A worker that tells what it should not. */
export class Telling extends Worker {
  static override readonly module = import.meta.url;

  @register({ dispatchMode: "ONE_TO_ALL" })
  log(what: string): Promise<string> {
    this.logger.warn(`${what} of rank ${this.rank}`, TOLD[what]!() as object);
    return Promise.resolve("done");
  }

  /** A message that is no text. */
  @register({ dispatchMode: "ONE_TO_ALL" })
  logOdd(what: string): Promise<string> {
    this.logger.warn(TOLD[what]!() as string);
    this.logger.warnOnce("odd", TOLD[what]!() as string);
    return Promise.resolve("done");
  }

  @register({ dispatchMode: "ONE_TO_ALL" })
  metric(name: string, value: number): Promise<string> {
    this.metrics.add(name, value);
    return Promise.resolve("done");
  }

  @register({ dispatchMode: "ONE_TO_ALL" })
  metricOdd(what: string): Promise<string> {
    for (let time = 0; time < 2; time++) this.metrics.add(`odd/${what}`, TOLD[what]!() as number);
    this.metrics.add(TOLD["odd"]!() as string, 1);
    return Promise.resolve("done");
  }

  @register({ dispatchMode: "ONE_TO_ALL" })
  tell(what: string, told: Listener): Promise<string> {
    told.tell(TOLD[what]!());
    return Promise.resolve("done");
  }

  /** Fails with facts that JSON has no place for. */
  @register({ dispatchMode: "ONE_TO_ALL" })
  fail(what: string): Promise<void> {
    const details = { layer: 7, told: TOLD[what]!() };
    return Promise.reject(new VerlError("VERL_BATCH_SHAPE", "odd shapes", { details }));
  }
}
