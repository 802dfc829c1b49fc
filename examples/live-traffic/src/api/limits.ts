import { fixedWindow, slidingWindow, tokenBucket, type Policy } from '@sluice/express';

export interface Limit {
  readonly policy: Policy;
  /** The owner of each budget and the unit, for the summary. */
  readonly countedBy: string;
  readonly unit?: string;
}

export type LimitName = 'address' | 'login' | 'account' | 'search' | 'export';

/** Every limit of the API, by the name that it has in header fields and in the summary. */
export const limits: Readonly<Record<LimitName, Limit>> = {
  address: { policy: slidingWindow({ limit: 100, window: '10s' }), countedBy: 'address' },
  login: { policy: fixedWindow({ limit: 5, window: '1m' }), countedBy: 'address, route' },
  account: { policy: fixedWindow({ limit: 10, window: '1m' }), countedBy: 'account' },
  search: { policy: tokenBucket({ capacity: 20, refill: 5, every: '1s' }), countedBy: 'address, route' },
  export: { policy: fixedWindow({ limit: 30, window: '10s' }), countedBy: 'address, route', unit: 'pages' },
};

/** The rule in words, from the numbers that are enforced: "5 in 60 s". */
export function ruleOf({ policy, unit }: Limit): string {
  const units = unit === undefined ? '' : ` ${unit}`;
  switch (policy.algorithm) {
    case 'slidingWindow':
      return `${String(policy.limit)}${units} in any ${seconds(policy.windowMs)}`;
    case 'fixedWindow':
      return `${String(policy.limit)}${units} in ${seconds(policy.windowMs)}`;
    case 'tokenBucket':
      return `${String(policy.capacity)}${units}, then ${String(policy.refill)} in ${seconds(policy.everyMs)}`;
    default:
      return policy.algorithm;
  }
}

function seconds(ms: number): string {
  return `${String(ms / 1000)} s`;
}
