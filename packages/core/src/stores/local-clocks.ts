/** Where instants of this process come from. */
export interface LocalClocks {
  /** Milliseconds that never go back, and stand still while a virtual machine is suspended: `performance.now()`. */
  monotonicMs(): number;
  /** Milliseconds since 1970, as far as the system knows: `Date.now()`. */
  dateMs(): number;
}

export const localClocks: LocalClocks = {
  monotonicMs: () => performance.now(),
  dateMs: () => Date.now(),
};

/** How much faster or slower than the clock of a store that of a process may run: a thousandth is 86 s a day. */
export const DRIFT: number = 1 / 1000;
