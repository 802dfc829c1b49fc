import { afterEach } from '@jest/globals';
import { breakers, decisions, storeErrors, type BreakerState } from '../../src/channels.ts';
import type { Decision } from '../../src/decision.ts';
import { forget, remember, type LiveLimiter, type Status } from '../../src/observe/live-limiters.ts';

const ALLOWED: Decision = {
  allowed: true,
  outcome: 'allowed',
  policy: 'hourly',
  cost: 1,
  limit: 10,
  remaining: 9,
  used: 1,
  retryAfterMs: 0,
  resetAfterMs: 1_000,
  delayMs: 0,
  source: 'memory',
  atMs: 0,
  policies: [],
};

export const DENIAL: Partial<Decision> = { allowed: false, outcome: 'denied', remaining: 0, retryAfterMs: 1_000 };

/** Publishes a decision of the limiter `api`, which took 250 ms. */
export function decide(decision: Partial<Decision> = {}, op: 'consume' | 'peek' = 'consume', limiter = 'api'): void {
  decisions.publish({ limiter, op, decision: { ...ALLOWED, ...decision }, durationMs: 250 });
}

export function failStore(): void {
  storeErrors.publish({ limiter: 'api', store: 'redis', kind: 'timeout', code: 'SLUICE_STORE_TIMEOUT' });
}

export function changeBreaker(previous: BreakerState, state: BreakerState): void {
  breakers.publish({ limiters: ['api', 'login'], store: 'redis', state, previous, kind: 'timeout' });
}

/** Makes limiters that are listed until the test ends. */
export function useLiveLimiters(): (limiter: Partial<LiveLimiter>, status?: Partial<Status>) => LiveLimiter {
  const made: LiveLimiter[] = [];
  afterEach(() => {
    for (const limiter of made.splice(0)) forget(limiter);
  });
  return (limiter, status) => {
    const live: LiveLimiter = {
      name: 'api',
      store: {},
      shared: true,
      status: () => ({ store: 'redis', breaker: 'closed', keysInMemory: 0, lostPolicies: [], ...status }),
      policies: () => [{ name: 'hourly', limit: 10 }],
      ...limiter,
    };
    made.push(live);
    remember(live);
    return live;
  };
}
