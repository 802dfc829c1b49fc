import { fixedWindow, slidingWindow, tokenBucket, type Policy } from '@sluice/express';

/** Every limit of the API, by the name that it has in header fields and in the summary. */
export const limits = {
  address: slidingWindow({ limit: 100, window: '10s' }),
  login: fixedWindow({ limit: 5, window: '1m' }),
  account: fixedWindow({ limit: 10, window: '1m' }),
  search: tokenBucket({ capacity: 20, refill: 5, every: '1s' }),
  export: fixedWindow({ limit: 30, window: '10s' }),
} satisfies Readonly<Record<string, Policy>>;
