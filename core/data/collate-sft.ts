import { DataProto } from "../batch/data-proto.ts";
import { NdArray } from "../batch/nd-array.ts";
import type { SftExample } from "./loss-mask.ts";
import { packSequences } from "./packing.ts";

export interface CollateSftOptions {
  padTokenId: number;
  /** Put several conversations into one row of at most this many tokens; absent: one conversation a row. */
  packTo?: number;
}

/**
 * Conversations as a batch of int32 matrices, right-padded to the longest row, in the shape that engines know from sampled answers: `responses`
 * is `input_ids` from its second token on, and `response_mask` says which of them are trained. The log-prob at a place is the one
 * of the token at that place, so no shift is left to the loss.
 *
 * Packed rows carry `segment_ids` (1, 2, … by conversation, 0 on pads) and positions that start anew with each conversation. An
 * engine must then keep attention within a segment. A conversation's first token has nothing before it and is never trained.
 */
export function collateSft(examples: readonly SftExample[], { padTokenId, packTo }: CollateSftOptions): DataProto {
  const lengths = examples.map((example) => example.ids.length);
  const rows = packTo === undefined ? examples.map((_, index) => [index]) : packSequences(lengths, packTo);
  const width = Math.max(2, ...rows.map((members) => members.reduce((sum, index) => sum + lengths[index]!, 0)));

  const inputIds = new Int32Array(rows.length * width).fill(padTokenId);
  const segments = new Int32Array(inputIds.length);
  const positions = new Int32Array(inputIds.length);
  const trained = new Int32Array(inputIds.length);
  rows.forEach((members, row) => {
    let start = row * width;
    members.forEach((member, segment) => {
      const { ids, lossMask } = examples[member]!;
      inputIds.set(ids, start);
      trained.set(lossMask, start);
      trained[start] = 0;
      segments.fill(segment + 1, start, start + ids.length);
      for (let at = 0; at < ids.length; at += 1) positions[start + at] = at;
      start += ids.length;
    });
  });

  const matrix = (data: Int32Array): NdArray<"int32"> => new NdArray("int32", [rows.length, width], data);
  const shifted = (data: Int32Array): NdArray<"int32"> =>
    new NdArray("int32", [rows.length, width - 1], dropFirstColumn(data, width));
  return new DataProto({
    batch: {
      input_ids: matrix(inputIds),
      attention_mask: matrix(segments.map((segment) => Math.min(segment, 1))),
      position_ids: matrix(positions),
      responses: shifted(inputIds),
      response_mask: shifted(trained),
      ...(packTo === undefined ? {} : { segment_ids: matrix(segments) }),
    },
  });
}

function dropFirstColumn(data: Int32Array, width: number): Int32Array {
  const rows = data.length / width;
  const rest = new Int32Array(rows * (width - 1));
  for (let row = 0; row < rows; row += 1)
    rest.set(data.subarray(row * width + 1, (row + 1) * width), row * (width - 1));
  return rest;
}
