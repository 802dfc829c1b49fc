import { describe, expect, it } from '@jest/globals';
import { PRODUCTION_LINE, TEST_LINE } from '@sluice/testkit';
import { checkHistory } from './check-history.ts';
import type { AlteredScript } from './client-process.ts';
import type { Plan, PolicyText } from './plan.ts';
import { run } from './run.ts';

const fixed: PolicyText = { make: 'fixedWindow', options: { limit: 5, window: 300 } };
const log: PolicyText = { make: 'slidingLog', options: { limit: 5, window: 300 } };
const counter: PolicyText = { make: 'slidingCounter', options: { limit: 5, window: 300 } };
const bucket: PolicyText = { make: 'tokenBucket', options: { capacity: 5, refill: 5, every: 200 } };

const refusal = 'if now_ms < full_at_ms - math.floor((capacity * q - needed * q - part) / p) then\nreturn false\nend';
const expiry = 'expire_at_ms = math.min(expire_at_ms + plan_of[key].kept_ms, LATEST_MS)';

const faulty: readonly (readonly [string, PolicyText, AlteredScript])[] = [
  [
    'forgets a unit of every admission',
    fixed,
    { replace: 'encode_pair(end_ms, used + cost)', by: 'encode_pair(end_ms, used + cost - 1)' },
  ],
  [
    'forgets a unit of every admission to a log',
    log,
    {
      replace: 'math.max(now_ms, newest_ms), used + cost, added + cost',
      by: 'math.max(now_ms, newest_ms), used + cost - 1, added + cost',
    },
  ],
  [
    'finds room for a unit more in the window before',
    counter,
    {
      replace: 'previous * reach_ms > (limit - current - cost) * window_ms',
      by: 'previous * reach_ms > (limit - current - cost + 1) * window_ms',
    },
  ],
  ['charges what it refuses', bucket, { replace: refusal, by: '' }],
  [
    'gives back twice what it is asked to',
    fixed,
    { replace: 'math.max(used - cost, 0)', by: 'math.max(used - 2 * cost, 0)' },
  ],
  ['lets keys expire before they are over', fixed, { replace: expiry, by: 'expire_at_ms = now_ms + 30' }],
  ['takes the time from its callers', bucket, { replace: PRODUCTION_LINE, by: TEST_LINE, clockAheadMs: 50 }],
];

/** How much a history shows depends on how much happens in it, and so on the machine: a few of them are looked at. */
async function defectsOf(policy: PolicyText, script: AlteredScript): Promise<readonly unknown[]> {
  for (let seed = 1; seed <= 5; seed++) {
    const plan: Plan = {
      seed,
      processes: [
        { client: 'url', proxied: false },
        { client: 'ioredis', proxied: false },
      ],
      keys: [[policy]],
      faults: [{ afterMs: 1000, fault: { what: 'script flush' } }],
    };
    const { defects } = checkHistory(await run(plan, script));
    if (defects.length > 0) return defects;
  }
  return [];
}

describe('a script is found out by what its callers see, without any fault of the server, that', () => {
  it.each(faulty)('%s', async (_what, policy, script) => {
    expect(await defectsOf(policy, script)).not.toEqual([]);
  });
});
