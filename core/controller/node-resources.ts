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
  /** True where more ranks than `total` allows run all the same, only slower: threads on the cores of a laptop. */
  readonly elastic?: boolean;
}
