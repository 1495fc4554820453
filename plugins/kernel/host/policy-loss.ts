import {
  clearMasked,
  lossDivisor,
  NdArray,
  tokenRuns,
  type FusedLoss,
  type PolicyLossAttrs,
  type TokenRuns,
} from "verl";
import type { HostArray, HostKernel } from "./host-kernel.ts";
import { lossLoops, type Loop, type LossLoops } from "./loss-loops.ts";

/** All rows × width. */
type Inputs = Readonly<Record<"logProbs" | "oldLogProbs" | "advantages" | "mask", HostArray>> & {
  readonly weights?: HostArray;
  readonly marks?: HostArray;
};

/** Fields in the order in which the loops' memory has them; the slopes, which they write, are behind. */
const FIELDS = ["logProbs", "oldLogProbs", "advantages", "marks", "weights"] as const;
const SLOPES = FIELDS.length;

/** Losses that do not look at the sampling policy: its log-probs need not be brought. */
const WITHOUT_OLD: readonly FusedLoss[] = ["gpg"];

/** Losses that are means over rows, whatever the aggregation. */
const OF_ROWS: readonly FusedLoss[] = ["geo_mean"];

/** Loss, metrics and d loss / d log-prob, row by row over the unmasked tokens. */
export const policyLoss: HostKernel<Inputs, PolicyLossAttrs> = (inputs, attrs, room) => {
  const { shape } = inputs.logProbs;
  const [rows, width] = shape as [number, number];
  const runs = tokenRuns(new NdArray("float32", shape, inputs.mask.values));
  const gradient = room(rows * width);
  clearMasked(gradient, width, runs);
  const loops = lossLoops();
  const row = new PackedRow(loops, runs, width);
  const { low, high, first, second } = attrs;
  loops.configure(low, high, 1 - low, 1 + high, first, second);
  sumRows(loops[attrs.loss], row, rows, inputs, attrs, gradient);
  const tokens = Math.max(attrs.tokens, 1);
  const scalars = [loops.sumAt(0), loops.sumAt(1) / tokens, loops.sumAt(2) / tokens, loops.sumAt(3) / tokens];
  return [...scalars.map((value) => ({ values: Float32Array.of(value), shape: [] })), { values: gradient, shape }];
};

/** Runs the loop on each row. Apart from what comes before and after, for V8 compiles a loop anew where the code around it turns out otherwise. */
function sumRows(
  loop: Loop,
  row: PackedRow,
  rows: number,
  inputs: Inputs,
  attrs: PolicyLossAttrs,
  gradient: Float32Array,
): void {
  const ofRows = OF_ROWS.includes(attrs.loss);
  const divisor = lossDivisor(attrs, { ofRows });
  const perLength = attrs.aggregation === "seq-mean-token-mean" && !ofRows;
  const fields = FIELDS.flatMap((name, field) => {
    const values = name === "oldLogProbs" && WITHOUT_OLD.includes(attrs.loss) ? undefined : inputs[name]?.values;
    return values ? [{ field, values }] : [];
  });
  for (let at = 0; at < rows; at++) {
    const tokens = row.begin(at);
    if (tokens === 0) continue;
    for (const { field, values } of fields) row.pack(values, field);
    loop(tokens, 1 / (perLength ? divisor * tokens : divisor), inputs.weights !== undefined);
    row.unpack(gradient, SLOPES);
  }
}

/** The tokens of one row in the memory of the loops, one after the other. */
class PackedRow {
  readonly #memory: Float32Array;
  readonly #base: number;
  readonly #stride: number;
  #row = 0;
  #tokens = 0;

  constructor(
    loops: LossLoops,
    private readonly runs: TokenRuns,
    width: number,
  ) {
    this.#base = loops.reserve(width) / Float32Array.BYTES_PER_ELEMENT;
    this.#stride = Math.ceil(width / 4) * 4;
    // After `reserve`, which may give the module another buffer.
    this.#memory = new Float32Array(loops.memory.buffer);
  }

  /** @returns how many unmasked tokens the row has. */
  begin(row: number): number {
    const { starts, ends, ofRow } = this.runs;
    this.#row = row;
    this.#tokens = 0;
    for (let run = ofRow[row]!; run < ofRow[row + 1]!; run++) this.#tokens += ends[run]! - starts[run]!;
    return this.#tokens;
  }

  /** Zeros follow the tokens, as far as the loops look. */
  pack(values: Float32Array, field: number): void {
    const { starts, ends, ofRow } = this.runs;
    let to = this.#base + field * this.#stride;
    for (let end = to + this.#tokens; end % 4 !== 0; end++) this.#memory[end] = 0;
    for (let run = ofRow[this.#row]!; run < ofRow[this.#row + 1]!; run++) {
      this.#memory.set(values.subarray(starts[run], ends[run]), to);
      to += ends[run]! - starts[run]!;
    }
  }

  unpack(values: Float32Array, field: number): void {
    const { starts, ends, ofRow } = this.runs;
    let from = this.#base + field * this.#stride;
    for (let run = ofRow[this.#row]!; run < ofRow[this.#row + 1]!; run++) {
      const length = ends[run]! - starts[run]!;
      values.set(this.#memory.subarray(from, from + length), starts[run]);
      from += length;
    }
  }
}
