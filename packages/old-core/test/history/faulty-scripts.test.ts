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

const denial =
  'if now_ms < full_at_ms - math.floor((capacity * q - needed * q - part) / p) then\n      return false\n    end';
const fitting = 'fitting = math.min(math.floor((capacity * q - needed * q - debt) / (cost * q)) + 1, count)';
const room = 'previous * reach_ms > (limit - current - cost) * window_ms';
const free = 'local free = limit - current - math.ceil(previous * reach_ms / window_ms)';
const expiry = 'local expire_at_ms = math.min(ends_at_ms + limit.kept_ms, LATEST_MS)';
const used = 'encode_pair(end_ms, used + fitting * cost)';
const added = 'math.max(now_ms, newest_ms), used + cost, added + cost';

const faulty: readonly (readonly [string, PolicyText, AlteredScript])[] = [
  ['forgets a unit of every allowed request', fixed, { changes: [[used, used.replace('cost)', 'cost - 1)')]] }],
  [
    'forgets a unit of every allowed request in a log',
    log,
    { changes: [[added, added.replace('used + cost', 'used + cost - 1')]] },
  ],
  [
    'finds room for a unit more in the window before',
    counter,
    {
      changes: [
        [room, room.replace('- cost)', '- cost + 1)')],
        [free, `${free} + 1`],
      ],
    },
  ],
  [
    'charges what it denies',
    bucket,
    {
      changes: [
        [denial, ''],
        [fitting, 'fitting = count'],
      ],
    },
  ],
  [
    'refunds twice the requested units',
    fixed,
    { changes: [['math.max(used - cost, 0)', 'math.max(used - 2 * cost, 0)']] },
  ],
  ['lets keys expire too early', fixed, { changes: [[expiry, 'local expire_at_ms = now_ms + 30']] }],
  ['takes the time from its callers', bucket, { changes: [[PRODUCTION_LINE, TEST_LINE]], clockAheadMs: 50 }],
  [
    'counts one of several equal requests',
    fixed,
    { changes: [['math.min(math.floor((limit - used) / cost), count)', '1']] },
  ],
  [
    'writes what one key holds to another',
    fixed,
    { changes: [['KEYS[key_index], after, "KEEPTTL"', 'KEYS[1], after, "KEEPTTL"']] },
  ],
];

/** The findings of a history depend on how much happens in it, and so on the machine: several are checked. */
async function defectsOf(policy: PolicyText, script: AlteredScript): Promise<readonly unknown[]> {
  for (let seed = 1; seed <= 5; seed++) {
    const plan: Plan = {
      seed,
      processes: [
        { client: 'url', proxied: false },
        { client: 'ioredis', proxied: false },
      ],
      keys: [[policy], [policy]],
      together: 4,
      faults: [{ afterMs: 1000, fault: { what: 'script flush' } }],
    };
    const { defects } = checkHistory(await run(plan, script));
    if (defects.length > 0) return defects;
  }
  return [];
}

describe('the replies alone, without any server fault, reveal a script that', () => {
  it.each(faulty)('%s', async (_what, policy, script) => {
    expect(await defectsOf(policy, script)).not.toEqual([]);
  });
});
