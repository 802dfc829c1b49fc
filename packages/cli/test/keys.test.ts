import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  concurrency,
  createLimiter,
  fixedWindow,
  leakyBucket,
  redisStore,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
  type Limiter,
  type LimiterOptions,
  type Policy,
} from '@sluice/core';
import { createPolicies, managed } from '@sluice/core/managed';
import { useClosing } from '@sluice/testkit';
import { useCli } from './sluice.ts';

const cli = useCli();
const closing = useClosing();
beforeEach(async () => {
  await cli.admin.flushall();
});

/** A limiter of an application. */
function limiterOf(options: object): Limiter {
  const store = redisStore(cli.admin, { prefix: 'sluice' });
  const all = { name: 'api', onStoreError: 'throw', timeoutMs: 60_000, denialCache: false, store, ...options };
  return closing(createLimiter(all as object as LimiterOptions) as Limiter);
}

interface Inspected {
  readonly atMs: number;
  readonly keys: readonly Readonly<Record<string, unknown>>[];
}
const inspected = async (...args: readonly string[]): Promise<Inspected> =>
  (await cli.json('inspect', ...args)) as Inspected;
const WHY = ['--reason', 'a flood', '--by', 'ann'];

const kinds: readonly (readonly [text: string, policy: Policy, tellsLimit: boolean])[] = [
  ['fixedWindow --limit 5 --window 1h', fixedWindow({ limit: 5, window: '1h' }), true],
  ['slidingWindow --limit 5 --window 1h', slidingWindow({ limit: 5, window: '1h' }), true],
  ['slidingCounter --limit 5 --window 1h', slidingCounter({ limit: 5, window: '1h' }), true],
  ['slidingLog --limit 5 --window 1h', slidingLog({ limit: 5, window: '1h' }), true],
  ['tokenBucket --capacity 5 --refill 1 --every 1h', tokenBucket({ capacity: 5, refill: 1, every: '1h' }), false],
  [
    'tokenBucket --capacity 5 --refill 1 --every 1h --mode interval',
    tokenBucket({ capacity: 5, refill: 1, every: '1h', mode: 'interval' }),
    false,
  ],
  ['leakyBucket --limit 1 --window 1h --max-delay 4h', leakyBucket({ limit: 1, window: '1h', maxDelay: '4h' }), false],
];

describe.each(kinds)('a key under %s', (text, policy, tellsLimit) => {
  it('has the numbers of a decision; without --policy those that its value tells', async () => {
    const limiter = limiterOf({ policy });
    await limiter.consume('203.0.113.7', 3);
    const { atMs, resetAfterMs, remaining } = await limiter.peek('203.0.113.7');

    const { keys } = await inspected('203.0.113.7', '--policy', text);
    const { keys: untold } = await inspected('203.0.113.7');

    const told = { limit: 'api', used: 3, resetAtMs: atMs + resetAfterMs, blockedUntilMs: null, problem: null };
    expect(keys).toEqual([expect.objectContaining({ ...told, remaining, policy })]);
    const unknown = { policy: null, remaining: null };
    expect(untold).toEqual([expect.objectContaining({ ...told, ...(tellsLimit ? { policy, remaining } : unknown) })]);
  });

  it('is blocked, unblocked and reset without its numbers', async () => {
    const limiter = limiterOf({ policy });
    await limiter.consume('ann');

    await cli.sluice('block', 'ann', '--limit', 'api', '--for', '10m', ...WHY);
    const blocked = await limiter.peek('ann', 0);
    await cli.sluice('unblock', 'ann', '--limit', 'api');
    const unblocked = await limiter.peek('ann', 0);
    await cli.sluice('reset', 'ann', '--limit', 'api');

    expect([blocked.outcome, unblocked.outcome, unblocked.used]).toEqual(['blocked', 'allowed', 1]);
    expect(await limiter.peek('ann', 0)).toMatchObject({ outcome: 'allowed', used: 0 });
  });
});

describe('inspect', () => {
  it('prints every limit of a key, its block, and when it is allowed next', async () => {
    await limiterOf({ name: 'login', policy: fixedWindow({ limit: 1, window: '1h' }) }).consume('ann');
    const named = [
      fixedWindow({ limit: 9, window: '1h', name: 'hour' }),
      slidingLog({ limit: 9, window: '1d', name: 'day' }),
    ];
    await limiterOf({ policy: named }).consume('ann', 2);
    await limiterOf({ policy: fixedWindow({ limit: 5, window: '1h' }) }).consume('anna');
    await cli.sluice('block', 'ann', '--limit', 'api:day', '--for', '1h', ...WHY);

    const { code, out } = await cli.sluice('inspect', 'ann');

    expect(code).toBe(0);
    const rows = out
      .replace(/\S+T\S+Z/g, 'T')
      .replace(/\(in [^)]+\)/g, '(in W)')
      .split('\n')
      .slice(1);
    expect(rows.map((row) => row.split(/ {2,}/))).toEqual([
      ['LIMIT', 'POLICY', 'USED', 'REMAINING', 'ALLOWED', 'RESETS', 'BLOCKED UNTIL'],
      ['api:day', 'slidingLog 9 per 1d', '2', '0', 'T (in W)', 'T (in W)', 'T (in W)'],
      ['api:hour', 'fixedWindow 9 per 1h', '2', '7', 'now', 'T (in W)', '-'],
      ['login', 'fixedWindow 1 per 1h', '1', '0', 'T (in W)', 'T (in W)', '-'],
    ]);
  });

  it('finds an address in any spelling, a part of a joined key, and a whole key', async () => {
    const limiter = limiterOf({ policy: fixedWindow({ limit: 5, window: '1h' }) });
    for (const key of ['2001:db8:0:1::/64', '203.0.113.7|/users/:id', 'x|203.0.113.77']) await limiter.consume(key);
    const subjects = async (key: string): Promise<readonly unknown[]> =>
      (await inspected(key)).keys.map(({ subject }) => subject);

    expect(await subjects('2001:DB8:0:1::5')).toEqual(['2001:db8:0:1::/64']);
    expect(await subjects('203.0.113.7')).toEqual(['203.0.113.7|/users/:id']);
    expect(await subjects('sluice:{x|203.0.113.77}:api')).toEqual(['x|203.0.113.77']);
  });

  it.each(['é', 'x'.repeat(257), 'with space', 'two\nlines', '{braces}', '#a', 'a*', '[a]\\'])(
    'finds the key %j, and prints no control character',
    async (key) => {
      await limiterOf({ policy: fixedWindow({ limit: 5, window: '1h' }) }).consume(key, 2);

      const { out } = await cli.sluice('inspect', key);

      expect(out).toContain('fixedWindow 5 per 1h  2');
      expect(out.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
    },
  );

  it('reads a key by its managed policy, or by the override that is in force', async () => {
    const store = redisStore(cli.admin, { prefix: 'sluice' });
    const policies = closing(createPolicies(store));
    await policies.put('orders', tokenBucket({ capacity: 10, refill: 1, every: '1h' }));
    const bigger = tokenBucket({ capacity: 50, refill: 1, every: '1h' });
    await policies.override('orders', { prefix: 'org-7:' }, bigger, { by: 'ann', reason: 'sale' });
    const limiter = limiterOf({ policy: managed('orders'), store, policies });
    await limiter.consume('bob', 3);
    await limiter.consume('org-7:eve', 3);

    const { keys } = await inspected('bob');
    const { out } = await cli.sluice('inspect', 'org-7:eve');

    expect(keys).toEqual([expect.objectContaining({ isManaged: true, limit: 'orders', used: 3, remaining: 7 })]);
    expect(out).toMatch(/orders \(managed\) +tokenBucket 50, 1 per 1h +3 +47/);
    expect(out).toContain('orders: by the override for org-7:* (ann: sale)');
  });

  it('says so if there is no state, or a value that Sluice did not write, and changes nothing', async () => {
    await cli.admin.set('sluice:{eve}:api', 'not ours');
    await cli.admin.lpush('sluice:{eve}:list', 'x');

    const { code, out } = await cli.sluice('inspect', 'eve');
    const none = await cli.sluice('inspect', 'zoe');

    expect(code).toBe(0);
    expect(out).toContain('sluice:{eve}:api: Sluice did not write this value');
    expect(out).toContain('sluice:{eve}:list: it is not a string');
    expect([none.code, none.out.split('\n')[0]]).toEqual([0, 'no state: no key is zoe, or has it as one of its parts']);
    expect(await cli.admin.dbsize()).toBe(2);
  });
});

describe('block', () => {
  it('is printed, with who and why, and told by the timeline', async () => {
    await limiterOf({ policy: fixedWindow({ limit: 5, window: '1h' }) }).consume('ann');

    const { code, out } = await cli.sluice('block', 'ann', '--limit', 'api', '--for', '10m', ...WHY);

    expect(code).toBe(0);
    expect(out).toMatch(/^blocked ann under api until \S+Z \(in 10m\), by ann: a flood$/);
    const { out: none } = await cli.sluice('events', '--limit', 'login', '--key', 'ann');
    expect(none).toBe('no events of the limit login of the key ann under sluice');
    expect(await cli.json('events', '--key', 'ann')).toEqual([
      {
        ...{ atMs: expect.any(Number), endAtMs: null, what: 'block', limit: 'api', key: 'ann', by: 'ann' },
        ...{ before: '1 used', after: '1 used, blocked for 10m', reason: 'a flood' },
      },
    ]);
  });

  it('without a limit holds everywhere Redis has the key, in each spelling of an address, and so ends', async () => {
    const policy = fixedWindow({ limit: 5, window: '1h' });
    const [api, login] = ['api', 'login'].map((name) => limiterOf({ name, policy })) as [Limiter, Limiter];
    await api.consume('2001:db8::/64');
    await login.consume('2001:DB8::1');
    const outcomes = async (): Promise<string[]> => [
      (await api.peek('2001:db8::/64')).outcome,
      (await login.peek('2001:DB8::1')).outcome,
    ];

    const { out } = await cli.sluice('block', '2001:DB8::1', '--for', '10m', ...WHY);
    const blocked = await outcomes();
    await cli.sluice('unblock', '2001:DB8::1');

    expect(out).toMatch(/ under (api, login|login, api) until /);
    expect([blocked, await outcomes()]).toEqual([
      ['blocked', 'blocked'],
      ['allowed', 'allowed'],
    ]);
  });

  it('holds for a key that has no state yet, by the keys of others: an address in its canonical form', async () => {
    const limiter = limiterOf({
      policy: [fixedWindow({ limit: 5, window: '1h', name: 'a' }), slidingLog({ limit: 5, window: '1h', name: 'b' })],
    });
    await limiter.consume('203.0.113.9');

    await cli.sluice('block', '2001:DB8::1', '--limit', 'api', '--for', '10m', ...WHY);

    expect((await limiter.peek('2001:db8::/64', 0)).policies.map(({ remaining }) => remaining)).toEqual([0, 0]);
  });

  it('holds under a managed policy, also after its reset, and for slots, of which the value does not tell how long', async () => {
    const store = redisStore(cli.admin, { prefix: 'sluice' });
    const policies = closing(createPolicies(store));
    const policy = concurrency({ limit: 2, ttl: '1m' });
    await policies.put('jobs', policy, { apps: ['web'] });
    await policies.put('jobs', policy, { reset: true });
    const limiter = limiterOf({ policy: managed('jobs'), app: 'web', store, policies });
    await limiterOf({ policy: concurrency({ limit: 3, ttl: '1m' }) }).acquire('ann');
    const { keys } = await inspected('ann');

    const { code } = await cli.sluice('block', 'ann', '--limit', 'jobs', '--for', '10m', ...WHY);

    expect(keys).toMatchObject([{ algorithm: 'concurrency', policy: null, used: 1, remaining: 2 }]);
    expect(code).toBe(0);
    expect((await limiter.acquire('ann')).decision.outcome).toBe('blocked');
  });

  it('takes a whole key before the first request of a limit', async () => {
    await cli.sluice('block', 'sluice:{ann}:new', '--for', '10m', ...WHY);

    const limiter = limiterOf({ name: 'new', policy: slidingWindow({ limit: 5, window: '1h' }) });
    expect((await limiter.consume('ann')).outcome).toBe('blocked');
  });

  it.each([
    [['--limit', 'nothing', '--for', '10m'], 1, 'no key in Redis belongs to a limit nothing'],
    [['--limit', 'api', '--for', '10m'], 1, "such as 'x|ann'; give one of these; nothing was changed"],
    [['--for', '10m'], 1, 'ann has no limit of its own: Redis has it only as part of combined keys'],
    [['--limit', 'api', '--for', '400d'], 2, '--for must be at most 366d, got "400d"'],
    [['--limit', 'api', '--for', 'long'], 2, '--for must be a duration such as'],
  ])('with %j fails', async (args, code, message) => {
    await limiterOf({ policy: fixedWindow({ limit: 5, window: '1h' }) }).consume('x|ann');

    const ran = await cli.sluice('block', 'ann', ...args, ...WHY);

    expect(ran).toEqual({ code, out: '', err: expect.stringContaining(message) });
  });
});

describe.each([
  ['unblock', 'is not blocked'],
  ['reset', 'has used nothing'],
])('%s', (edit, why) => {
  it('fails for a key that %s, and leaves nothing behind', async () => {
    await limiterOf({ policy: fixedWindow({ limit: 5, window: '1h' }) }).consume('bob');

    const { code, err } = await cli.sluice(edit, 'ann', '--limit', 'api');

    expect([code, err]).toEqual([1, `sluice: ann ${why} under api; nothing was changed`]);
    expect(await cli.admin.keys('*')).toEqual(['sluice:{bob}:api']);
  });
});
