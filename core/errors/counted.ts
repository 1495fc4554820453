/** `1 row`, `2 rows`. @param many plural of the noun, where it is not the noun and an s. */
export const counted = (count: number, noun: string, many = `${noun}s`): string =>
  `${count} ${count === 1 ? noun : many}`;
