import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  createLimiter,
  escalate,
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
} from '@sluice/old-core';
import type { KeyReport } from '@sluice/old-core/inspect';
import { contents, runSluice, useCli } from './sluice.ts';

const cli = useCli();
const limiters: Limiter[] = [];
const closeLimiters = (): Promise<unknown> => Promise.all(limiters.splice(0).map((limiter) => limiter.close()));
afterEach(closeLimiters);
beforeEach(async () => {
  await cli.admin.flushall();
});

const limiterOf = (options: Omit<LimiterOptions, 'store'>): Limiter => {
  const store = redisStore(cli.admin, { prefix: 'sluice' });
  const all: object = { onStoreError: 'throw', timeoutMs: 60_000, store, ...options };
  const limiter = createLimiter(all as LimiterOptions);
  limiters.push(limiter as Limiter);
  return limiter as Limiter;
};

const INSTANT = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g;
/** The text with every instant as T and every wait as W, because they depend on the time of the run. */
const timeless = (text: string): string => text.replace(INSTANT, 'T').replace(/\(in [^)]+\)/g, '(in W)');
/** Cells of the row with this beginning. */
const row = (text: string, start: string): readonly string[] =>
  (
    text
      .split('\n')
      .find((line) => line.startsWith(start))
      ?.split(/ {2,}/) ?? []
  ).map(timeless);

interface Inspected {
  readonly key: string;
  readonly atMs: number;
  readonly keys: readonly KeyReport[];
}
const inspected = async (...args: readonly string[]): Promise<Inspected> =>
  (await cli.json('inspect', ...args)) as Inspected;

const kinds: readonly (readonly [text: string, policy: Policy, written: string])[] = [
  ['fixedWindow --limit 5 --window 1h', fixedWindow({ limit: 5, window: '1h' }), 'fixedWindow 5 per 1h'],
  [
    'slidingWindow --limit 5 --window 1h --precision 1m',
    slidingWindow({ limit: 5, window: '1h', precision: '1m' }),
    'slidingWindow 5 per 1h, precision 1m',
  ],
  [
    'tokenBucket --capacity 5 --refill 1 --every 1h --overdraft 2',
    tokenBucket({ capacity: 5, refill: 1, every: '1h', overdraft: 2 }),
    'tokenBucket 5, 1 per 1h, overdraft 2',
  ],
  [
    'tokenBucket --capacity 5 --refill 1 --every 1h --mode interval',
    tokenBucket({ capacity: 5, refill: 1, every: '1h', mode: 'interval' }),
    'tokenBucket 5, 1 per 1h, mode interval',
  ],
  ['slidingCounter --limit 5 --window 1h', slidingCounter({ limit: 5, window: '1h' }), 'slidingCounter 5 per 1h'],
  [
    'leakyBucket --limit 1 --window 1h --max-delay 4h',
    leakyBucket({ limit: 1, window: '1h', maxDelay: '4h' }),
    'leakyBucket 1 per 1h, max delay 4h',
  ],
];

describe.each(kinds)('inspect of a key under %s', (text, policy, written) => {
  it('prints used and remaining units, and the reset time', async () => {
    await limiterOf({ name: 'api', policy }).consume('203.0.113.7', 3);

    const { code, out } = await cli.sluice('inspect', '203.0.113.7', '--policy', text);

    expect(code).toBe(0);
    expect(row(out, 'api')).toEqual(['api', 'api', written, '3', '5', '2', 'T (in W)', '-']);
  });

  it('prints the numbers of a decision as JSON', async () => {
    const limiter = limiterOf({ name: 'api', policy });
    await limiter.consume('203.0.113.7', 3);
    const { atMs, resetAfterMs } = await limiter.peek('203.0.113.7');

    const { key, keys } = await inspected('203.0.113.7', '--policy', text);

    expect(key).toBe('203.0.113.7');
    expect(keys).toHaveLength(1);
    expect(keys[0]?.policies).toEqual([
      {
        name: 'api',
        algorithm: policy.algorithm,
        policy,
        version: null,
        override: null,
        used: 3,
        limit: 5,
        remaining: 2,
        resetAtMs: atMs + resetAfterMs,
        detailKey: null,
      },
    ]);
  });

  it('reports an unknown policy', async () => {
    await limiterOf({ name: 'api', policy }).consume('a', 3);

    const { out } = await cli.sluice('inspect', 'a');

    expect(row(out, 'api').slice(1, 3)).toEqual(['api', policy.algorithm]);
    expect(row(out, 'api').slice(4, 6)).toEqual(['-', '-']);
  });
});

describe('inspect', () => {
  const policy = fixedWindow({ limit: 5, window: '1h' });

  it('prints the instant by the clock of Redis', async () => {
    await limiterOf({ policy }).consume('a');
    const [seconds = 0] = await cli.admin.time();

    const { out } = await cli.sluice('inspect', 'a');
    const { atMs } = await inspected('a');

    expect(timeless(out).split('\n')[0]).toBe('at T by the clock of Redis');
    expect(Math.abs(atMs - seconds * 1_000)).toBeLessThan(60_000);
  });

  it('prints the denial count', async () => {
    const limiter = limiterOf({ name: 'login', policy, escalate: escalate({ after: 2, block: '1h', decay: '1d' }) });
    for (let i = 0; i < 2; i++) await limiter.consume('a', 6);

    const { out } = await cli.sluice('inspect', 'a');

    expect(timeless(out)).toContain('sluice:{a}:login:2f: denials 0, blocks 1, forgotten T (in W)');
    expect(row(out, 'login').at(-1)).toBe('T (in W)');
  });

  it('finds the key under every limiter, and no other key', async () => {
    await limiterOf({ name: 'login', policy }).consume('a', 2);
    await limiterOf({ name: 'api', policy }).consume('a', 1);
    await limiterOf({ name: 'other', policy }).consume('ab', 4);

    const { keys } = await inspected('a', '--policy', 'fixedWindow --limit 5 --window 1h');

    expect(keys.map(({ limiter, policies }) => [limiter, policies[0]?.remaining])).toEqual([
      ['api', 4],
      ['login', 3],
    ]);
  });

  it('lists several policies of one key by name', async () => {
    const burst = fixedWindow({ name: 'burst', limit: 3, window: '1m' });
    await limiterOf({ policy: [burst, slidingWindow({ name: 'steady', limit: 9, window: '1h' })] }).consume('a');

    const { out } = await cli.sluice(
      ...['inspect', 'a', '--policy', 'fixedWindow --limit 3 --window 1m --name burst'],
      ...['--policy', 'slidingWindow --limit 9 --window 1h --name steady'],
    );

    expect(row(out, 'default  burst').slice(1, 6)).toEqual(['burst', 'fixedWindow 3 per 1m', '1', '3', '2']);
    expect(row(out, 'default  steady').slice(1, 6)).toEqual(['steady', 'slidingWindow 9 per 1h', '1', '9', '8']);
  });

  it('reports a --policy that did not write the state', async () => {
    await limiterOf({ name: 'api', policy }).consume('a', 2);

    const { code, out } = await cli.sluice('inspect', 'a', '--policy', 'fixedWindow --limit 5 --window 1m');

    expect(code).toBe(0);
    expect(row(out, 'api')[1]).toBe('api');
    expect(out).toContain('sluice:{a}:api:2f: the state of api lasts longer than the given policy can make it last');
  });

  it('prints the end of a block', async () => {
    const limiter = limiterOf({ policy });
    await limiter.block('a', '1m');
    const { atMs, retryAfterMs } = await limiter.peek('a');

    const { keys } = await inspected('a', '--policy', 'fixedWindow --limit 5 --window 1h');
    const { out } = await cli.sluice('inspect', 'a');

    expect(keys[0]).toMatchObject({
      blockedUntilMs: atMs + Number(retryAfterMs),
      policies: [{ used: 0, remaining: 0 }],
    });
    expect(row(out, 'default').at(-1)).toBe('T (in W)');
  });

  it.each(['é', 'x'.repeat(256), 'x'.repeat(257), 'with space', 'two\nlines', '{braces}', '#a', 'a*', '[a]\\'])(
    'finds the subject, whether it is hashed or not: %j',
    async (subject) => {
      await limiterOf({ policy }).consume(subject, 2);

      const { keys } = await inspected(subject);

      expect(keys.map(({ policies }) => policies[0]?.used)).toEqual([2]);
    },
  );

  it('prints no control character of a subject', async () => {
    const policies = [
      slidingLog({ name: 'log', limit: 5, window: '1h' }),
      fixedWindow({ name: 'few', limit: 5, window: '1h' }),
    ];
    await limiterOf({ name: 'api', policy: policies }).consume('a\n\u001b[31m\u009b31m');
    const keys = await cli.admin.keys('*');

    for (const key of keys) {
      const { code, out } = await cli.sluice('inspect', key);

      expect(code).toBe(0);
      expect(out).toContain('{a\\u{a}\\u{1b}[31m\\u{9b}31m}');
      expect(out.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
    }
    expect(keys).toHaveLength(2);
  });

  it.each([
    ['an address with a route', '203.0.113.7', '203.0.113.7|/login'],
    ['a value that Envoy sends', 'ann', 'edge|user|ann'],
    ['an entry that Envoy sends', 'user|ann', 'edge|user|ann|path|/'],
    ['a part with a bar', 'a|b', 'x|a%7Cb'],
    ['a part with a per cent sign', '100%', 'x|100%25'],
    ['an IPv6 address, by its network', '2001:DB8:0:1::7', '2001:db8:0:1::/64'],
    ['an IPv6 address, by a shorter network and a route', '2001:db8:0:1::7', '2001:db8::/56|/login'],
    ['an IPv4 address inside of an IPv6 address', '::ffff:203.0.113.7', '203.0.113.7'],
  ])('finds the key of %s', async (_what, asked, key) => {
    const limiter = limiterOf({ name: 'login', policy });
    await limiter.consume(key, 5);
    for (const other of ['203.0.113.70|/login', 'edge|user|anna', 'a', '2001:db8:1:1::/64'])
      await limiter.consume(other);

    const { out } = await cli.sluice('inspect', asked);
    const { keys } = await inspected(asked);

    expect(keys.map(({ subject, policies }) => [subject, policies[0]?.used])).toEqual([[key, 5]]);
    expect(row(out, key).slice(0, 5)).toEqual([key, 'login', 'login', 'fixedWindow', '5']);
  });

  it('prints a hundred of the keys that join a part, those that are it first', async () => {
    const limiter = limiterOf({ name: 'login', policy });
    await Promise.all(Array.from({ length: 120 }, (_, i) => limiter.consume(`ann|${String(i)}`)));
    await limiter.consume('ann', 3);

    const { out } = await cli.sluice('inspect', 'ann');

    expect(out.split('\n')[2]).toMatch(/^ann +login/);
    expect(out.match(/^ann/gm)).toHaveLength(100);
    expect(out).toContain('and 21 more keys, which --json prints');
    expect((await inspected('ann')).keys).toHaveLength(121);
  });

  it('reads a whole key as it is', async () => {
    await limiterOf({ name: 'api', policy }).consume('é', 2);
    await limiterOf({ name: 'login', policy }).consume('é', 3);
    const keys = await cli.admin.keys('*:login:*');

    const { keys: reports } = await inspected(keys[0] ?? '');

    expect(reports.map(({ limiter, policies }) => [limiter, policies[0]?.used])).toEqual([['login', 3]]);
  });

  it('searches another prefix with --prefix', async () => {
    const store = redisStore(cli.admin, { prefix: 'sluice:shop' });
    const limiter = createLimiter({ policy, store, onStoreError: 'throw', timeoutMs: 60_000 });
    limiters.push(limiter);
    await limiter.consume('a');

    expect((await inspected('a', '--prefix', 'sluice:shop')).keys).toHaveLength(1);
    expect((await inspected('a')).keys).toHaveLength(0);
  });

  it('searches the prefix of SLUICE_PREFIX, unless there is --prefix', async () => {
    const store = redisStore(cli.admin, { prefix: 'sluice:shop' });
    const limiter = createLimiter({ policy, store, onStoreError: 'throw', timeoutMs: 60_000 });
    limiters.push(limiter);
    await limiter.consume('a');
    const env = { SLUICE_REDIS: cli.url, SLUICE_PREFIX: 'sluice:shop' };

    const [ofEnvironment, ofFlag] = await Promise.all([
      runSluice(['inspect', 'a', '--json'], { env }),
      runSluice(['inspect', 'a', '--json', '--prefix', 'sluice'], { env }),
    ]);

    expect(JSON.parse(ofEnvironment.out)).toMatchObject({ keys: [{ limiter: 'default' }] });
    expect(JSON.parse(ofFlag.out)).toMatchObject({ keys: [] });
  });

  it('prints that there is no state, and succeeds', async () => {
    const { code, out } = await cli.sluice('inspect', 'absent');

    expect(code).toBe(0);
    expect(out).toContain('no state: no key is absent, or has it as one of its parts');
    expect(await inspected('absent')).toMatchObject({ key: 'absent', keys: [] });
  });

  it('prints an instant that others have written and that is no date', async () => {
    const limiter = limiterOf({ name: 'late', policy: tokenBucket({ capacity: 5, refill: 1, every: '1h' }) });
    await limiter.consume('ann', 2);
    const [key = ''] = await cli.admin.keys('*ann*');
    await cli.admin.set(key, '9007199254740991999999');

    const { code, out } = await cli.sluice('inspect', 'ann');

    expect([code, out]).toEqual([0, expect.stringContaining('after +275760-09-13T00:00:00.000Z')]);
  });

  it('reports keys that Sluice did not write', async () => {
    await cli.admin.set('sluice:{a}:api:2f', 'hello');
    await cli.admin.set('sluice:{a}:\u001b[31m', 'hello');
    await cli.admin.hset('sluice:{a}:hash', 'field', 'value');

    const { code, out } = await cli.sluice('inspect', 'a');

    expect(code).toBe(0);
    expect(out).toContain('sluice:{a}:api:2f: its value is not one that its policies write');
    expect(out).toContain('sluice:{a}:\\u{1b}[31m: this is not a key of a limiter');
    expect(out).toContain('sluice:{a}:hash: it is not a string');
  });

  it('changes nothing', async () => {
    const limiter = limiterOf({ policy });
    await limiter.consume('a');
    await limiter.block('a', '1h');
    const before = await contents(cli.admin);

    await cli.sluice('inspect', 'a');
    await cli.sluice('inspect', 'b', '--json');

    expect(await contents(cli.admin)).toEqual(before);
  });

  it('finds a key among many', async () => {
    const pipeline = cli.admin.pipeline();
    for (let i = 0; i < 5_000; i++) pipeline.set(`other:${String(i)}`, '');
    await pipeline.exec();
    await limiterOf({ policy }).consume('a');

    expect((await inspected('a')).keys).toHaveLength(1);
  });

  it.each([
    ['fixedWindow --limit 0.5 --window 1m', 'limit must be a whole number from 0'],
    ['fixedWindow --limit 5 --window 1m --count-denied yes', 'countDenied must be true or false, got "yes"'],
    ['fixedWindow --limit 5 --wndow 1m', "unknown option '--wndow'"],
    ['fixedWidow --limit 5', 'there is no policy "fixedWidow"; did you mean fixedWindow?'],
    ['', 'missing required argument'],
    ['fixedWindow --limit 5 --capacity 5', 'fixedWindow has no option "capacity"'],
  ])('rejects the policy %j', async (text, expected) => {
    const { code, err, out } = await cli.sluice('inspect', 'a', '--policy', text);

    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(expected);
  });
});
