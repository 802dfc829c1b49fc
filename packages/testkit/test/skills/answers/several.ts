import { createLimiter as create, fixedWindow, slidingWindow, type Limiter, type Store } from '@sluice/core';

export function createLimiter(store: Store): Limiter {
  return create({
    name: 'things',
    store,
    policy: [
      slidingWindow({ name: 'burst', limit: 2, window: '1s' }),
      fixedWindow({ name: 'daily', limit: 3, window: '1d' }),
    ],
  });
}
