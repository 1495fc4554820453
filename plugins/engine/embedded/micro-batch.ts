import * as tf from "@tensorflow/tfjs";
import { NdArray, VerlError, type DataProto } from "verl";
import { bucket } from "./bucket.ts";
import type { DecoderInput } from "./decoder.ts";
import type { ModelConfig } from "./model-config.ts";

/** One batch as the decoder takes it. */
export interface DecoderTensors {
  input: DecoderInput;
  /** int32 [rows × responseLength]: the tokens whose log-probs are asked for. */
  targets: tf.Tensor1D;
}

/**
 * A batch cut to what its masks need and padded to bucket sizes: all-padding columns at both ends go, pad rows come.
 * Inputs are the prompt and all but the last response token, since nothing is predicted from that one.
 */
export class MicroBatch {
  /** Rows and response length of the batch that was given. */
  readonly rows: number;
  readonly responseLength: number;
  /** The padded sizes. */
  readonly paddedRows: number;
  readonly paddedResponse: number;
  readonly promptLength: number;
  readonly lastPosition: number;

  private readonly inputIds: NdArray<"int32">;
  private readonly attentionMask: NdArray<"int32">;
  private readonly positionIds: NdArray<"int32">;
  private readonly fullPrompt: number;

  /** @throws VERL_ENGINE_BATCH for ids, masks or positions that the model cannot read */
  constructor(
    private readonly batch: DataProto,
    { vocabSize, maxPositions }: Pick<ModelConfig, "vocabSize" | "maxPositions">,
  ) {
    this.inputIds = batch.batch.get("input_ids", "int32");
    this.attentionMask = batch.batch.get("attention_mask", "int32");
    this.positionIds = batch.batch.get("position_ids", "int32");
    const [rows = 0, length = 0] = this.inputIds.shape;
    for (const [name, { shape }] of [
      ["attention_mask", this.attentionMask],
      ["position_ids", this.positionIds],
    ] as const) {
      if (shape.join() !== `${rows},${length}`) {
        throw refusal(`"${name}" is [${shape.join(", ")}], but "input_ids" is [${rows}, ${length}]`);
      }
    }
    this.rows = rows;
    this.responseLength = batch.batch.get("responses").shape[1] ?? 0;
    this.fullPrompt = length - this.responseLength;
    if (rows === 0 || this.responseLength === 0 || this.fullPrompt < 1) {
      throw refusal(
        `a batch of [${rows}, ${length}] tokens with ${this.responseLength} response tokens has nothing to predict or to predict from`,
      );
    }

    let first = this.fullPrompt - 1;
    let last = this.fullPrompt;
    let lastPosition = 0;
    for (let row = 0; row < rows; row += 1) {
      for (let column = 0; column < length; column += 1) {
        const at = row * length + column;
        if (this.attentionMask.data[at] === 0) continue;
        if (column < first) first = column;
        if (column > last) last = column;
        const [id, position] = [this.inputIds.data[at]!, this.positionIds.data[at]!];
        if (id < 0 || id >= vocabSize)
          throw refusal(`token ${column} of row ${row} has id ${id}, outside the vocabulary of ${vocabSize}`);
        if (position < 0 || position >= maxPositions) {
          throw refusal(
            `token ${column} of row ${row} is at position ${position}, outside the model's ${maxPositions}`,
          );
        }
        if (position > lastPosition) lastPosition = position;
      }
    }
    this.lastPosition = lastPosition;
    this.paddedRows = bucket(rows);
    this.promptLength = Math.min(this.fullPrompt, bucket(this.fullPrompt - first));
    this.paddedResponse = Math.min(this.responseLength, bucket(last - this.fullPrompt + 1));
  }

  tensors(): DecoderTensors {
    const { paddedRows, paddedResponse, promptLength, fullPrompt } = this;
    const start = fullPrompt - promptLength;
    const length = promptLength + paddedResponse - 1;
    // Ids and positions behind the mask are replaced: whatever stands there must not reach a table.
    const ids = this.window(this.inputIds, start, length);
    const positions = this.window(this.positionIds, start, length);
    const mask = this.window(this.attentionMask, start, length);
    const targets = this.window(this.inputIds, fullPrompt, paddedResponse);
    const targetMask = this.window(this.attentionMask, fullPrompt, paddedResponse);
    for (let i = 0; i < mask.length; i += 1) if (mask[i] === 0) ids[i] = positions[i] = 0;
    for (let i = 0; i < targets.length; i += 1) if (targetMask[i] === 0) targets[i] = 0;
    const shape: [number, number] = [paddedRows, length];
    const segments = this.batch.batch.has("segment_ids") && this.batch.batch.get("segment_ids", "int32");
    return {
      input: {
        ids: tf.tensor2d(ids, shape, "int32"),
        positions: tf.tensor2d(positions, shape, "int32"),
        ...(segments && { segments: tf.tensor2d(this.window(segments, start, length), shape, "int32") }),
        valid: tf.tensor2d(
          Uint8Array.from(mask, (flag) => (flag === 0 ? 0 : 1)),
          shape,
          "bool",
        ),
      },
      targets: tf.tensor1d(targets, "int32"),
    };
  }

  /** A field as a float32 tensor: [rows], [rows, responseLength] or [rows, responseLength, n] of the padded sizes, pad entries 0. */
  field(name: string): tf.Tensor {
    const array = this.batch.batch.get(name);
    const [, width, ...rest] = array.shape;
    if (rest.length > 1 || (width !== undefined && width !== this.responseLength)) {
      throw refusal(
        `field "${name}" is [${array.shape.join(", ")}]; a loss reads fields of one value or list a row or a response token`,
      );
    }
    const shape = [this.paddedRows, ...(width === undefined ? [] : [this.paddedResponse]), ...rest];
    const perToken = rest[0] ?? 1;
    const used = (width === undefined ? 1 : this.paddedResponse) * perToken;
    const values = new Float32Array(this.paddedRows * used);
    for (let row = 0; row < this.rows; row += 1) {
      const from = row * (width ?? 1) * perToken;
      for (let at = 0; at < used; at += 1) values[row * used + at] = Number(array.data[from + at]);
    }
    return tf.tensor(values, shape);
  }

  /**
   * Back to the size of the batch that was given; 0 behind the mask.
   * @param padded [paddedRows × paddedResponse × perToken] @param perToken values a token; more than 1 become a third axis.
   */
  unpad(padded: Float32Array, perToken = 1): NdArray<"float32"> {
    const shape = [this.rows, this.responseLength, ...(perToken === 1 ? [] : [perToken])];
    const out = NdArray.zeros("float32", shape);
    const length = this.fullPrompt + this.responseLength;
    for (let row = 0; row < this.rows; row += 1) {
      for (let column = 0; column < this.paddedResponse; column += 1) {
        if (this.attentionMask.data[row * length + this.fullPrompt + column] === 0) continue;
        const from = (row * this.paddedResponse + column) * perToken;
        out.data.set(padded.subarray(from, from + perToken), (row * this.responseLength + column) * perToken);
      }
    }
    return out;
  }

  /** `width` columns from `start`, for all padded rows; pad rows are 0. */
  private window({ data, shape }: NdArray<"int32">, start: number, width: number): Int32Array {
    const length = shape[1]!;
    const out = new Int32Array(this.paddedRows * width);
    for (let row = 0; row < this.rows; row += 1) {
      out.set(data.subarray(row * length + start, row * length + start + width), row * width);
    }
    return out;
  }
}

function refusal(problem: string): VerlError {
  return new VerlError("VERL_ENGINE_BATCH", `The engine cannot read this batch: ${problem}.`, {
    hint: "Batches hold int32 input_ids, attention_mask and position_ids [rows, prompt + response], and responses [rows, response].",
  });
}
