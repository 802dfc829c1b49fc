import { HELD, LINE, type Nums } from '../../src/program/numbers.ts';
import { planOf, type Plan } from './memory.ts';
import type { Policy } from './policies.ts';

const MAX_UNITS = 2 ** 52;

/** A policy as the program reads it. */
export function plan(policy: Policy): Plan {
  switch (policy.algorithm) {
    case 'fixedWindow': {
      const { limit, windowMs, align } = policy;
      return planOf('f', numbers(limit, 0, 0, windowMs, align === 'clock' ? 1 : 0));
    }
    case 'intervalBucket': {
      const { capacity, refill, everyMs, overdraft } = policy;
      return planOf('i', numbers(capacity, overdraft, 0, refill, everyMs));
    }
    case 'tokenBucket': {
      const { capacity, overdraft, p, q } = policy;
      return planOf('t', numbers(capacity, overdraft, 0, p, q, capacity * q));
    }
    case 'leakyBucket': {
      const { maxDelayMs, p, q } = policy;
      return planOf('l', numbers(Math.floor((maxDelayMs * p) / q) + 1, 0, LINE, p, q, maxDelayMs * p + q));
    }
    case 'slidingWindow': {
      const { limit, precisionMs, windowMs } = policy;
      return planOf('s', numbers(limit, 0, 0, precisionMs, Math.ceil(windowMs / precisionMs) * precisionMs));
    }
    case 'slidingCounter': {
      const { limit, windowMs } = policy;
      return planOf(
        'c',
        numbers(limit, 0, 0, windowMs, Math.min(Math.floor(Number.MAX_SAFE_INTEGER / windowMs), MAX_UNITS)),
      );
    }
    case 'slidingLog':
      return planOf('g', numbers(policy.limit, 0, 0, policy.windowMs));
    case 'concurrency':
      return planOf('h', numbers(policy.limit, 0, HELD, policy.ttlMs));
  }
}

function numbers(limit: number, overdraft: number, mode: number, ...own: number[]): Nums {
  return [limit, overdraft, 0, mode, ...own] as number[] as Nums;
}
