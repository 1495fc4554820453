import fc from "fast-check";
import { DataProto, NdArray, type Column, type DType } from "../../core/batch/index.ts";

const element: { [D in DType]: fc.Arbitrary<number | bigint> } = {
  float32: fc.float(),
  int32: fc.integer(),
  int64: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  uint8: fc.nat(255),
  bool: fc.nat(1),
};

const make: { [D in DType]: (values: never[]) => NdArray["data"] } = {
  float32: (values) => Float32Array.from(values),
  int32: (values) => Int32Array.from(values),
  int64: (values) => BigInt64Array.from(values),
  uint8: (values) => Uint8Array.from(values),
  bool: (values) => Uint8Array.from(values),
};

const tensor = (rows: number): fc.Arbitrary<NdArray> =>
  fc
    .tuple(fc.constantFrom<DType>("float32", "int32", "int64", "uint8", "bool"), fc.array(fc.nat(3), { maxLength: 2 }))
    .chain(([dtype, rowShape]) => {
      const size = rowShape.reduce((product, extent) => product * extent, rows);
      return fc
        .array(element[dtype], { minLength: size, maxLength: size })
        .map((values) => new NdArray(dtype, [rows, ...rowShape], make[dtype](values as never[]) as never));
    });

/** Values of one type, of nested types, and of no common type. */
const value: fc.Arbitrary<unknown> = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.anything({ withBigInt: true, withDate: true, withNullPrototype: false, withTypedArray: false, maxDepth: 3 }),
  fc.int32Array(),
  fc.float32Array(),
);
const column = (rows: number): fc.Arbitrary<Column> => {
  const of = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<unknown[]> =>
    fc.array(arbitrary, { minLength: rows, maxLength: rows });
  return fc.oneof(
    of(fc.option(fc.string({ unit: "grapheme" }))),
    of(fc.option(fc.double())),
    of(fc.option(fc.bigInt())),
    of(fc.option(fc.boolean())),
    of(fc.option(fc.int32Array())),
    of(fc.array(fc.option(fc.integer()))),
    of(
      fc.option(
        fc.record(
          { role: fc.string(), score: fc.option(fc.float()), tags: fc.array(fc.string()) },
          { noNullPrototype: true },
        ),
      ),
    ),
    of(fc.dictionary(fc.string(), fc.integer(), { noNullPrototype: true })),
    of(value),
  );
};

/** Batches of 0 to 6 rows with tensors of every dtype and columns of every kind. */
export const dataProto: fc.Arbitrary<DataProto> = fc.nat(6).chain((rows) =>
  fc
    .tuple(
      fc.dictionary(
        fc.string().map((key) => `t${key}`),
        tensor(rows),
        { maxKeys: 4 },
      ),
      fc.dictionary(
        fc.string().map((key) => `c${key}`),
        column(rows),
        { maxKeys: 4 },
      ),
      fc.dictionary(fc.string(), value, { maxKeys: 2, noNullPrototype: true }),
    )
    .map(([tensors, columns, metaInfo]) => DataProto.fromDict(tensors, columns, metaInfo)),
);
