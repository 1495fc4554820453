/**
 * The k-th largest of the values, k from 1 to their number. Quickselect: linear on average. None may be NaN.
 * @param values are put in another order: the k largest come first.
 */
export function kthLargest(values: Float64Array, k: number): number {
  const wanted = k - 1;
  let [first, last] = [0, values.length - 1];
  while (first < last) {
    const pivot = medianOfThree(values[first]!, values[(first + last) >>> 1]!, values[last]!);
    let [left, right] = [first, last];
    while (left <= right) {
      while (values[left]! > pivot) left++;
      while (values[right]! < pivot) right--;
      if (left > right) break;
      const held = values[left]!;
      values[left++] = values[right]!;
      values[right--] = held;
    }
    if (wanted <= right) last = right;
    else if (wanted >= left) first = left;
    else break;
  }
  return values[wanted]!;
}

function medianOfThree(a: number, b: number, c: number): number {
  return Math.max(Math.min(a, b), Math.min(Math.max(a, b), c));
}
