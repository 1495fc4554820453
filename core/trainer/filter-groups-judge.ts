/** What becomes of a group: it is kept, or all of its answers are worth 0, 1 or something else, or none has a value. */
export type GroupVerdict = "kept" | "all_0" | "all_1" | "all_same" | "unscored";

export interface JudgedGroup {
  uid: unknown;
  verdict: GroupVerdict;
}

/** Groups by what became of them. */
export type GroupCounts = Record<GroupVerdict | "sampled", number>;

/**
 * The groups of a batch in order of appearance. A group is kept when two of its answers differ, compared exactly; a group of one answer
 * cannot differ and is kept. Answers without a value do not count.
 * @param values one a row; null: none.
 */
export function judgeGroups(uid: readonly unknown[], values: readonly (number | null)[]): JudgedGroup[] {
  const groups = new Map<unknown, (number | null)[]>();
  uid.forEach((own, row) => {
    const group = groups.get(own);
    if (group) group.push(values[row]!);
    else groups.set(own, [values[row]!]);
  });
  return Array.from(groups, ([own, group]) => ({ uid: own, verdict: judge(group) }));
}

function judge(group: readonly (number | null)[]): GroupVerdict {
  const known = group.filter((value) => value !== null);
  const [first] = known;
  if (first === undefined) return "unscored";
  if (group.length === 1 || known.some((value) => value !== first)) return "kept";
  return first === 0 ? "all_0" : first === 1 ? "all_1" : "all_same";
}

/** @param before what was counted of earlier batches. */
export function countGroups(judged: readonly JudgedGroup[], before?: GroupCounts): GroupCounts {
  const counts = { sampled: 0, kept: 0, all_0: 0, all_1: 0, all_same: 0, unscored: 0, ...before };
  for (const { verdict } of judged) {
    counts.sampled++;
    counts[verdict]++;
  }
  return counts;
}
