import type { DeniedDetail } from '../replay/tally.ts';

/** Fewer user agents are one person's devices and programs. */
const FEWEST = 4;
/** The requests that do not have the most common user agent. */
const LEAST_SHARE = 0.2;

/** A sign that several people are behind one address, as behind a NAT or a proxy. */
export interface SharedAddress {
  /** User agents among the denied requests; `orMore` where some were not counted. */
  readonly userAgents: number;
  readonly orMore: boolean;
}

/** Whether many user agents share an address: at least four, and no one of them has nearly all requests. */
export function sharedBy({ userAgents, hasMore }: DeniedDetail): SharedAddress | null {
  if (userAgents.size < FEWEST) return null;
  const counts = [...userAgents.values()];
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total - Math.max(...counts) < total * LEAST_SHARE) return null;
  return { userAgents: userAgents.size, orMore: hasMore };
}
