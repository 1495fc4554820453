/** Prompts side by side; each array is rows × width, flat. */
export interface PaddedPrompts {
  prompts: Int32Array;
  /** 1 on tokens, 0 on pads. */
  attention_mask: Int32Array;
  /** Counts real tokens from 0; pads have 0. */
  position_ids: Int32Array;
}

/**
 * Pads prompts on the left to a common width.
 * @throws RangeError when a prompt is longer than `width`.
 */
export function padLeft(prompts: readonly Int32Array[], width: number, padTokenId: number): PaddedPrompts {
  const ids = new Int32Array(prompts.length * width).fill(padTokenId);
  const mask = new Int32Array(ids.length);
  const positions = new Int32Array(ids.length);
  prompts.forEach((prompt, row) => {
    if (prompt.length > width)
      throw new RangeError(`Prompt ${row} has ${prompt.length} tokens, more than the width of ${width}.`);
    const end = (row + 1) * width;
    const start = end - prompt.length;
    ids.set(prompt, start);
    mask.fill(1, start, end);
    for (let at = start; at < end; at += 1) positions[at] = at - start;
  });
  return { prompts: ids, attention_mask: mask, position_ids: positions };
}
