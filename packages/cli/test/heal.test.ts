import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  createLimiter,
  fixedWindow,
  redisStore,
  slidingLog,
  type Limiter,
  type Policy,
  type Store,
} from '@sluice/core';
import { createPolicies, managed } from '@sluice/managed';
import { PRODUCTION_LINE } from '@sluice/testkit';
import { runSluice, useCli } from './sluice.ts';

const HOUR_S = 3600;
const cli = useCli();
const limiters: Limiter[] = [];
afterEach(() => Promise.all(limiters.splice(0).map((limiter) => limiter.close())));
beforeEach(async () => {
  await cli.admin.flushall();
});

/** The store of a process while the clock of Redis is so many seconds ahead. */
function storeAhead(seconds: number): Store {
  const ahead = `${PRODUCTION_LINE} time[1] = time[1] + ${String(seconds)}`;
  return redisStore({
    evalsha: () => Promise.reject(new Error('NOSCRIPT: this client sends the source')),
    eval: (source, keys, args) => cli.admin.eval(source.replace(PRODUCTION_LINE, ahead), keys.length, ...keys, ...args),
  });
}

function limiterOf(name: string, policy: Policy | ReturnType<typeof managed>, store: Store): Limiter {
  const options = { name, policy, store, timeoutMs: 60_000, onStoreError: 'throw', denialCache: false, app: 'test' };
  const limiter: Limiter = createLimiter(options as never);
  limiters.push(limiter);
  return limiter;
}

const healed = (...args: readonly string[]) => runSluice(['heal', '--redis', cli.storeUrl, ...args]);

describe('sluice heal', () => {
  it('cuts states that were written ahead, and leaves the others as they are', async () => {
    const policy = fixedWindow({ limit: 1, window: '1m' });
    await limiterOf('login', policy, storeAhead(HOUR_S)).consume('ann');
    await limiterOf('login', policy, redisStore(cli.admin)).consume('bob');
    const log = slidingLog({ limit: 1, window: '1m' });
    await limiterOf('log', log, storeAhead(HOUR_S)).consume('ann');

    const { code, out } = await healed(
      ...['--policy', 'fixedWindow --limit 1 --window 1m', '--policy', 'slidingLog --limit 1 --window 1m'],
    );

    expect([code, out.split('\n').toSorted()]).toEqual([
      0,
      ['2 of 3 keys cut', 'cut sluice:{ann}:log:2l', 'cut sluice:{ann}:login:2f'],
    ]);
    for (const [name, its] of [
      ['login', policy],
      ['log', log],
    ] as const) {
      const { allowed, resetAfterMs } = await limiterOf(name, its, redisStore(cli.admin)).peek('ann');
      expect(allowed).toBe(false);
      expect(resetAfterMs).toBeLessThanOrEqual(60_000);
    }
  });

  it('cuts the state of a key with an override to the window of the override', async () => {
    const policies = createPolicies(cli.admin);
    await policies.put('orders', fixedWindow({ limit: 1, window: '1d' }), { apps: ['test'] });
    await policies.override('orders', 'ann', fixedWindow({ limit: 1, window: '1m' }));
    const store = storeAhead(HOUR_S);
    await limiterOf('api', managed('orders'), store).consume('ann');

    const { out } = await healed();

    const { allowed, resetAfterMs } = await limiterOf('other', managed('orders'), redisStore(cli.admin)).peek('ann');
    expect(out).toBe('cut sluice:{ann}:orders:2m\n1 of 1 keys cut');
    expect(allowed).toBe(false);
    expect(resetAfterMs).toBeLessThanOrEqual(60_000);
    await policies.close();
  });

  it('knows managed policies, and says of which keys it does not know the policy', async () => {
    const policies = createPolicies(cli.admin);
    await policies.put('orders', fixedWindow({ limit: 1, window: '1m' }), { apps: ['test'] });
    const store = storeAhead(HOUR_S);
    await limiterOf('login', fixedWindow({ limit: 1, window: '1m' }), store).consume('ann');
    await limiterOf('api', managed('orders'), store).consume('ann');

    const { out } = await healed('--json');
    const { out: again } = await healed();

    expect(JSON.parse(out)).toMatchObject({ unknown: ['sluice:{ann}:login:2f'] });
    expect((JSON.parse(out) as { healed: readonly string[] }).healed).toHaveLength(1);
    expect(again).toBe(
      '0 of 2 keys cut\n1 keys not looked at, such as sluice:{ann}:login:2f: give their policies with --policy',
    );
  });
});
