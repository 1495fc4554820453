/**
 * What makes token ids unfit for the model that is to read them, in words behind "has"; undefined where nothing does.
 * @param vocabSize ids of the model; undefined: not known
 */
export function vocabularyFault(ids: Int32Array, vocabSize = Infinity): string | undefined {
  // Ids are many, and a callback each is most of the time.
  for (let at = 0; at < ids.length; at += 1) {
    const id = ids[at]!;
    if (id < 0 || id >= vocabSize)
      return `the id ${id} (token ${at}), outside the vocabulary${vocabSize === Infinity ? "" : ` of ${vocabSize}`}`;
  }
  return undefined;
}
