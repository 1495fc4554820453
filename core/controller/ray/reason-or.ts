/** How long the reason of a lost connection is waited for. */
const REASON_MS = 1500;

/** Why a process ended, or what its connection says, if that is not known soon. */
export const reasonOr = (ended: Promise<string>, otherwise: string): Promise<string> =>
  Promise.race([ended, new Promise<string>((resolve) => setTimeout(() => resolve(otherwise), REASON_MS).unref())]);
