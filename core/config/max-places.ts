/**
 * Ranks of one pool: many times those of the largest clusters, and few enough to be listed. A number far above is a slip, and a list of as
 * many would end the process for want of memory.
 */
export const MAX_PLACES = 65_536;
