/** `closed` while the store is called; `open` after failures; `half-open` while a probe is under way. */
export type BreakerState = 'closed' | 'open' | 'half-open';
