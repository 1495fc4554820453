import { DataProto } from "../batch/data-proto.ts";
import { requirePositive } from "../batch/row-ids.ts";

/** Gives its batch when it is asked, and the same one each time. */
type Lazy = () => Promise<DataProto>;

/**
 * A batch that a worker group is still at. It is a promise of the batch, and can be handed to another group's method as it is. `chunk`
 * and `concat` wait for nothing: they say what is to be done with the batches once they are there.
 */
export class DataProtoFuture implements Promise<DataProto> {
  readonly [Symbol.toStringTag] = "DataProtoFuture";
  private made: Promise<DataProto> | undefined;

  /**
   * @param source the batch, or what makes it when it is first asked for. A function may call the very group whose method the future is
   *   handed to: a call that it makes while that one waits for it comes first. A promise's work, or that of a function which was asked
   *   before, calls the group in its turn, behind a call that was given the future meanwhile: both then wait for ever.
   */
  constructor(private readonly source: PromiseLike<DataProto> | Lazy) {}

  /** True once it is being made. */
  get begun(): boolean {
    return this.made !== undefined || typeof this.source !== "function";
  }

  /** The batches in order, as one. */
  static concat(futures: readonly PromiseLike<DataProto>[]): DataProtoFuture {
    return new DataProtoFuture(async () => DataProto.concat(await Promise.all(futures)));
  }

  /**
   * `count` parts in order, as `DataProto.chunk` cuts them. @param options.equal uneven parts are refused when they are asked for
   * @throws VERL_BATCH_SPLIT at once for a count that is no integer above 0
   */
  chunk(count: number, options: { equal?: boolean } = {}): DataProtoFuture[] {
    requirePositive("The number of chunks", count);
    let parts: Promise<DataProto[]> | undefined;
    const cut = (): Promise<DataProto[]> => (parts ??= this.get().then((batch) => batch.chunk(count, options)));
    return Array.from({ length: count }, (_, index) => new DataProtoFuture(async () => (await cut())[index]!));
  }

  /** Waits for the batch. */
  get(): Promise<DataProto> {
    const { source } = this;
    return (this.made ??= (async () => (typeof source === "function" ? source() : source))());
  }

  then<T = DataProto, E = never>(
    onFulfilled?: ((batch: DataProto) => T | PromiseLike<T>) | null,
    onRejected?: ((reason: unknown) => E | PromiseLike<E>) | null,
  ): Promise<T | E> {
    return this.get().then(onFulfilled, onRejected);
  }

  catch<E = never>(onRejected?: ((reason: unknown) => E | PromiseLike<E>) | null): Promise<DataProto | E> {
    return this.get().catch(onRejected);
  }

  finally(onFinally?: (() => void) | null): Promise<DataProto> {
    return this.get().finally(onFinally);
  }
}
