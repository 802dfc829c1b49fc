import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  createLimiter,
  escalate,
  fixedWindow,
  redisStore,
  slidingLog,
  tokenBucket,
  type Decision,
  type Limiter,
  type Policy,
  type SingleLimiterOptions,
  type Store,
} from '@sluice/old-core';
import { useRedis, withoutFastPath } from '@sluice/testkit';
import { watchedClient, type WatchedClient } from './watched-client.ts';

const redis = useRedis();
let client: WatchedClient;
beforeEach(async () => {
  await redis.admin.flushall();
  client = watchedClient(redis.client);
});

const strict = { onStoreError: 'throw', timeoutMs: 60_000 } as const;
const six = fixedWindow({ limit: 6, window: '1h' });

/**
 * A limiter whose scripts the server knows: one that it does not know is sent again, behind what was sent meanwhile.
 */
async function limiterOf(policy: Policy, options: Partial<SingleLimiterOptions> = {}): Promise<Limiter> {
  const limiter = createLimiter({
    policy,
    store: redisStore(client, { prefix: 'sluice' }),
    ...strict,
    ...options,
  } as SingleLimiterOptions);
  await limiter.consume('warm');
  await limiter.reset('warm');
  client.sent.length = 0;
  return limiter;
}

const digits = (decisions: readonly Decision[]): string =>
  decisions.map(({ allowed }) => (allowed ? '1' : '0')).join('');

describe.each<[string, () => Store]>([
  ['a call for all', () => redisStore(client, { prefix: 'sluice' })],
  ['a call for each', () => withoutFastPath(redisStore(client, { prefix: 'sluice' }))],
])('requests for one key in one turn, %s', (_how, storeOf) => {
  it.each<[string, Policy, Partial<SingleLimiterOptions>]>([
    ['a window', six, {}],
    ['a bucket', tokenBucket({ capacity: 6, refill: 1, every: '1d' }), {}],
    ['a log', slidingLog({ limit: 6, window: '1h' }), {}],
    ['a limit that escalates', six, { escalate: escalate({ after: 9, block: '1m', decay: '1h' }) }],
  ])('are decided in the order of calling: %s', async (_what, policy, more) => {
    const limiter = await limiterOf(policy, { store: storeOf(), ...more });

    const decisions = await Promise.all([5, 1, 1, 5, 1].map((cost) => limiter.consume('ann', cost)));

    expect(digits(decisions)).toBe('11000');
    expect(decisions.map(({ remaining }) => remaining)).toEqual([1, 0, 0, 0, 0]);
  });

  it('see what was asked for before them, whatever that was', async () => {
    const limiter = await limiterOf(six, { store: storeOf() });

    const [first, peeked, second, , third, , fourth, last] = await Promise.all([
      limiter.consume('ann', 4),
      limiter.peek('ann', 3),
      limiter.consume('ann', 2),
      limiter.reset('ann'),
      limiter.consume('ann', 1),
      limiter.block('ann', '1h'),
      limiter.consume('ann', 1),
      limiter.peek('ann', 1),
    ]);

    expect([first, peeked, second, third, fourth, last].map((decision) => decision.remaining)).toEqual([
      2, 2, 0, 5, 0, 0,
    ]);
    expect([peeked, third, fourth, last].map(({ outcome }) => outcome)).toEqual([
      'denied',
      'allowed',
      'blocked',
      'blocked',
    ]);
  });

  it('of two limiters that share it are decided in the order of calling', async () => {
    const store = storeOf();
    const six_ = await limiterOf(six, { store, name: 'one', shared: true });
    const nine = await limiterOf(fixedWindow({ limit: 9, window: '1h' }), { store, name: 'one', shared: true });

    const decisions = await Promise.all([
      six_.consume('ann', 5),
      nine.consume('ann', 2),
      six_.consume('ann', 1),
      nine.consume('ann', 2),
      nine.consume('ann', 1),
    ]);

    expect(digits(decisions)).toBe('11010');
    expect((await nine.peek('ann')).remaining).toBe(0);
  });
});

describe('a lone request', () => {
  it('is one call, and leaves before anything else happens', async () => {
    const limiter = await limiterOf(six);
    const events: string[] = [];
    client.onSend = ({ how }) => events.push(how);

    setImmediate(() => events.push('the next phase'));
    const decided = limiter.consume('ann');
    events.push('asked');
    await decided;

    expect(events.filter((event) => event !== 'asked')).toEqual(['evalsha', 'the next phase']);
    expect(client.sent).toHaveLength(1);
    expect(client.sent[0]?.keys).toEqual(['sluice:{ann}:default:2f']);
  });

  it('waits for no other that is on its way', async () => {
    const limiter = await limiterOf(six);
    redis.server.pause();
    try {
      const first = limiter.consume('ann');
      await new Promise(setImmediate);
      const second = limiter.consume('ben');
      await new Promise(setImmediate);
      await new Promise(setImmediate);

      expect(client.sent.map(({ keys }) => keys)).toEqual([['sluice:{ann}:default:2f'], ['sluice:{ben}:default:2f']]);
      redis.server.resume();
      expect(digits(await Promise.all([first, second]))).toBe('11');
    } finally {
      redis.server.resume();
    }
  });
});

describe('requests for several keys in one turn', () => {
  it('are one call', async () => {
    const limiter = await limiterOf(six);

    const decisions = await Promise.all(['ann', 'ben', 'ann', 'cat', 'ann'].map((key) => limiter.consume(key)));

    expect(client.sent.map(({ how, keys }) => [how, keys.length])).toEqual([['evalsha', 3]]);
    expect(decisions.map(({ remaining }) => remaining)).toEqual([5, 5, 4, 5, 3]);
  });

  it('of several limiters of a store are one call', async () => {
    const store = redisStore(client, { prefix: 'sluice' });
    const one = await limiterOf(six, { store, name: 'one' });
    const two = await limiterOf(tokenBucket({ capacity: 3, refill: 1, every: '1d' }), { store, name: 'two' });

    await Promise.all([one.consume('ann'), two.consume('ann'), one.consume('ben'), two.consume('ben')]);

    expect(client.sent.map(({ keys }) => keys.length)).toEqual([4]);
  });

  it('are a single run for each key and cost, where they are equal', async () => {
    const limiter = await limiterOf(fixedWindow({ limit: 1_000, window: '1h' }));
    const asked = Array.from({ length: 500 }, () => limiter.consume('ann'));

    const decisions = await Promise.all(asked);

    const [call, ...others] = client.sent;
    expect(others).toEqual([]);
    expect(call?.args.slice(-3)).toEqual(['1', '1', '500']); // the place of the key, the cost, how many
    expect(decisions.map(({ remaining }) => remaining)).toEqual(asked.map((_, i) => 999 - i));
  });
});
