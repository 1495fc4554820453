/** Amounts by name; names as Ray's: `CPU`, `GPU`. */
export type Resources = Readonly<Record<string, number>>;

/** What one machine has. */
export interface NodeResources {
  /** Its name or address. */
  readonly node: string;
  readonly total: Resources;
  /** Not held by anybody. */
  readonly free: Resources;
  /** Who holds the rest, as far as it is known: `placement group verl_actor`, `another job`. */
  readonly holders: readonly { readonly who: string; readonly holds: Resources }[];
  /**
   * True for the one machine of a transport that reaches no other: more ranks than it has cores run all the same, only slower. Of all else
   * it has no more than `total`, and it stands for one machine of each pool.
   */
  readonly elastic?: boolean;
}
