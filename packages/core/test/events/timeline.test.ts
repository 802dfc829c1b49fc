import { beforeEach, describe, expect, it } from '@jest/globals';
import { expectWarnings, until, useRedis } from '@sluice/testkit';
import type { LimitEvent } from '../../src/events/event.ts';
import { readEvents } from '../../src/events/read-events.ts';
import { findTimeline, Timeline } from '../../src/events/timeline.ts';
import { createLimiter } from '../../src/limiter/create-limiter.ts';
import { createPolicies } from '../../src/managed/index.ts';
import { fixedWindow } from '../../src/policies/fixed-window.ts';
import { redisStore, type RedisStore } from '../../src/stores/redis/redis-store.ts';
import { memoryStore } from '../../src/stores/memory.ts';

expectWarnings('SLUICE_STORE_AWAY');
const redis = useRedis();
const LIST = 'sluice:{#policies}:events';
const why = { by: 'ann', reason: 'a flood' };
const numbers = (limit: number) => fixedWindow({ limit, window: '1h' });
beforeEach(async () => {
  await redis.admin.flushall();
});

/** A store as another process has it; policies need further rights. `before` is called before each call, and may reject it. */
function newStore(client = redis.client, before: () => unknown = () => undefined): RedisStore {
  const run = (how: 'eval' | 'evalsha') => async (script: string, keys: readonly string[], args: readonly string[]) => {
    await before();
    return client[how](script, keys.length, ...keys, ...args);
  };
  return redisStore({ eval: run('eval'), evalsha: run('evalsha') }, { prefix: 'sluice' });
}
const failing = (): Promise<never> => Promise.reject(new Error('connect ECONNREFUSED'));

const eventOf = (more: Partial<LimitEvent>): LimitEvent => ({
  ...{ atMs: Date.now(), what: 'block', endAtMs: null, limit: 'api', key: 'eve' },
  ...{ before: null, after: null, by: null, reason: null, ...more },
});

describe.each([
  ['memory', () => memoryStore()],
  ['Redis, with the fewest rights', () => newStore()],
])('changes in %s', (_where, makeStore) => {
  it('of a key are told with who, why, and its state before and afterwards, but for resets without these', async () => {
    const store = makeStore();
    const limiter = createLimiter({ name: `edits-${store.source}`, policy: numbers(2), store });
    await limiter.consume('eve');
    await limiter.block('eve', '10m', why);
    await limiter.unblock('eve', { by: 'bob' });
    await limiter.reset('eve', { reason: 'ticket 7' });
    await limiter.reset('eve'); // routine

    const events = await readEvents({ store, limit: limiter.name });
    await limiter.close();

    const common = { limit: limiter.name, key: 'eve', endAtMs: null, atMs: expect.any(Number), by: null, reason: null };
    const [used, blocked] = ['1 of 2 used', '1 of 2 used, blocked for 10m'];
    expect(events.toReversed()).toEqual([
      { ...common, ...why, what: 'block', before: used, after: blocked },
      { ...common, what: 'unblock', by: 'bob', before: expect.stringMatching(/blocked for/), after: used },
      { ...common, what: 'reset', reason: 'ticket 7', before: used, after: '0 of 2 used' },
    ]);
  });
});

describe('changes of keys in Redis', () => {
  it('are told although the process ends right after the change', async () => {
    const store = newStore(redis.client, async () => {
      if ((await redis.admin.exists('sluice:{eve}:api:per-minute')) === 1) await failing();
    });
    const policy = ['per-minute', 'per-hour'].map((name) => fixedWindow({ name, limit: 2, window: '1h' }));
    await createLimiter({ name: 'api', policy, store }).block('eve', '10m', why);

    expect(await readEvents({ store: newStore() })).toEqual([eventOf({ ...why, atMs: expect.any(Number) as never })]);
  });

  it('of one turn are told in order', async () => {
    const limiter = createLimiter({ name: 'api', policy: numbers(2), store: newStore() });
    const edits = ['1', '2', '3', '4'].map((by, i) =>
      i % 2 === 0 ? limiter.block('eve', '1m', { by }) : limiter.unblock('eve', { by }),
    );
    await Promise.all(edits);
    await limiter.close();

    expect((await readEvents({ store: newStore() })).map(({ by }) => by)).toEqual(['4', '3', '2', '1']);
  });

  it('are told with them beside a request that fails', async () => {
    await redis.admin.set('sluice:{bob}:api', 'not a state');
    const store = newStore(redis.client, async () => {
      if ((await redis.admin.exists('sluice:{eve}:api')) === 1) await failing();
    });
    const limiter = createLimiter({ name: 'api', policy: numbers(2), store, onStoreError: 'throw' });
    const asked = limiter.consume('bob').catch(() => undefined);
    await Promise.all([asked, limiter.block('eve', '10m', why)]);

    expect(await readEvents({ store: newStore() })).toHaveLength(1);
  });

  it('are not told if the script could not make them', async () => {
    await redis.admin.set('sluice:{eve}:api', 'not a state');
    const limiter = createLimiter({ name: 'api', policy: numbers(2), store: newStore() });

    await expect(limiter.block('eve', '10m', why)).rejects.toMatchObject({ name: 'StoreError' });
    expect(await readEvents({ store: newStore() })).toEqual([]);
  });
});

describe('changes of managed policies', () => {
  it('are told to every process, with the numbers before and afterwards', async () => {
    const policies = createPolicies(newStore(redis.admin));
    await policies.put('orders', numbers(100), { apps: ['shop'], ...why });
    await policies.put('orders', numbers(100)); // changes nothing
    await policies.put('orders', numbers(200), why);
    await policies.override('orders', { prefix: 'org-7:' }, numbers(500), why);
    await policies.removeOverride('orders', { prefix: 'org-7:' });
    await policies.remove('orders');

    const events = await readEvents({ store: newStore() });
    await policies.close();

    const [hundred, more] = [100, 200].map((limit) => `fixedWindow ${String(limit)} per 1h`);
    expect(events.toReversed().map(({ what, key, before, after, by }) => [what, key, before, after, by])).toEqual([
      ['put', null, null, `${String(hundred)} for shop`, 'ann'],
      ['put', null, `${String(hundred)} for shop`, `${String(more)} for shop`, 'ann'],
      ['override', 'org-7:*', more, 'fixedWindow 500 per 1h', 'ann'],
      ['removeOverride', 'org-7:*', 'fixedWindow 500 per 1h', more, null],
      ['remove', null, `${String(more)} for shop`, null, null],
    ]);
  });

  it('are told although the process ends right after the change', async () => {
    const store = newStore(redis.admin, async () => {
      if ((await redis.admin.exists('sluice:{#policies}:records')) === 1) await failing();
    });
    const { changedAtMs } = await createPolicies(store).put('orders', numbers(100), why);

    const common = { what: 'put', limit: 'orders', key: null, endAtMs: null, before: null };
    expect(await readEvents({ store: newStore() })).toEqual([
      { ...common, ...why, atMs: changedAtMs, after: 'fixedWindow 100 per 1h' },
    ]);
  });

  it('are told later if they could not be with the change', async () => {
    await redis.admin.lpush(LIST, 'not a text'); // GET fails
    const store = newStore(redis.admin);
    await createPolicies(store).put('orders', numbers(100), why);
    await redis.admin.del(LIST);
    await readEvents({ store });

    expect((await readEvents({ store: newStore() })).map(({ limit }) => limit)).toEqual(['orders']);
  });
});

describe('the timeline in Redis', () => {
  it('has what could not be written at first, once it can be, for a week', async () => {
    const store = newStore();
    const limiter = createLimiter({ name: 'api', policy: numbers(2), store });
    await redis.admin.lpush(LIST, 'not a text'); // GET fails
    await limiter.block('eve', '1m', why);
    expect((await limiter.peek('eve')).outcome).toBe('blocked');
    await redis.admin.del(LIST);
    await limiter.block('bob', '1m', why);
    await limiter.close();

    expect((await readEvents({ store: newStore() })).map(({ key }) => key)).toEqual(['bob', 'eve']);
    const leftMs = await redis.admin.pttl(LIST);
    expect([leftMs > 6 * 86_400_000, leftMs <= 7 * 86_400_000]).toEqual([true, true]);
  });

  it('is bounded, and written by anyone: what is no event is not returned', async () => {
    const line = (i: number, text: string): string => `${String(Date.now() + 60_000)} name-${String(i)} ${text}`;
    const bad = ['{', '[]', 'null', JSON.stringify({ ...eventOf({}), what: 'sold' }), JSON.stringify({ atMs: 1 })];
    const wrong = [
      ...[{ limit: 7 }, { key: {} }, { atMs: -1 }, { atMs: 9e15 }, { endAtMs: '1' }, { reason: 'x'.repeat(1_001) }],
    ] as never[];
    const texts = [...bad, ...wrong.map((more) => JSON.stringify(eventOf(more)))];
    const many = Array.from({ length: 1_200 }, (_, i) => JSON.stringify(eventOf({ key: `key-${String(i)}` })));
    await redis.admin.set(LIST, [...texts, ...many].map((text, i) => line(i, text)).join('\n'));
    const read = await readEvents({ store: newStore() });
    const limiter = createLimiter({ name: 'api', policy: numbers(2), store: newStore() });
    await createPolicies(newStore(redis.admin)).put('orders', numbers(1));
    const put = String(await redis.admin.get(LIST))
      .trim()
      .split('\n');
    await limiter.block('eve', '1m', { reason: 'y'.repeat(5_000) });
    await limiter.close();

    expect(read).toHaveLength(1_000 - texts.length);
    expect(put).toHaveLength(1_000);
    expect(String(await redis.admin.get(LIST)).split('\n')).toHaveLength(1_000);
    expect((await readEvents({ store: newStore() }))[0]?.reason).toHaveLength(1_000);
  });

  it('has what happens now first, whatever others have written of the future', async () => {
    const store = newStore();
    const future = (i: number): string => JSON.stringify(eventOf({ atMs: 8.64e15 - i, key: 'false' }));
    const lines = Array.from({ length: 1_000 }, (_, i) => `${String(Date.now() + 60_000)} f-${String(i)} ${future(i)}`);
    await redis.admin.set(LIST, lines.join('\n'));
    await readEvents({ store });
    await findTimeline(store).add(eventOf({ key: 'true' }));

    const [last, next] = await readEvents({ store });
    expect([last?.key, next?.key]).toEqual(['true', 'false']);
    expect(next?.atMs).toBeLessThanOrEqual(Date.now());
  });

  it('is read by limit and by key, with what concerns every key', async () => {
    const store = newStore(redis.admin);
    const policies = createPolicies(store);
    const limits = [{ name: 'per-user', policy: numbers(3) }] as const;
    const limiter = createLimiter({ name: 'api', limits, store });
    await policies.put('orders', numbers(1));
    await policies.override('orders', { prefix: 'org-7:' }, numbers(5));
    await limiter.block({ 'per-user': 'org-7:ann' }, '1m', why);
    await limiter.block({ 'per-user': 'k'.repeat(300) }, '1m', why);
    const whatOf = async (options: object): Promise<string> =>
      (await readEvents({ store, ...options })).map(({ what }) => what).join(' ');

    expect([
      await whatOf({ limit: 'orders' }),
      await whatOf({ limit: 'api' }),
      await whatOf({ limit: 'per-user', key: 'k'.repeat(300) }),
      await whatOf({ key: 'org-7:ann' }),
      await whatOf({ key: 'bob' }),
    ]).toEqual(['override put', 'block block', 'block', 'block override put', 'put']);
    await limiter.close();
  });

  it('rejects if it cannot be read, and for an unknown option', async () => {
    await expect(readEvents({ stor: newStore() } as object)).rejects.toThrow('did you mean "store"?');
    await expect(readEvents({ store: newStore(redis.client, failing) })).rejects.toMatchObject({ name: 'StoreError' });
  });

  it('gets back what Redis lost from a process that made or read it', async () => {
    const [store, reader] = [newStore(), newStore()];
    const limiter = createLimiter({ name: 'api', policy: numbers(2), store });
    await limiter.block('eve', '1m', why);
    await limiter.close();
    await readEvents({ store: reader });

    await redis.admin.flushall();
    await readEvents({ store: reader });

    await until('it is back', async () => (await readEvents({ store: newStore() })).length === 1);
  });
});

describe('an outage', () => {
  it('is one event that lasts in its process, and is written when it has ended', async () => {
    const [mine, other] = [newStore(), newStore()].map((store) => findTimeline(store)) as [Timeline, Timeline];
    const outage = { what: 'outage', limit: 'api' } as const;
    const minuteMs = Math.floor(Date.now() / 60_000 - 2) * 60_000;
    const ends = [
      mine.begin({ ...outage, atMs: minuteMs + 1_000 }),
      other.begin({ ...outage, atMs: minuteMs + 2_000 }),
    ];
    await mine.refresh();
    const lasting = [mine.events.map(({ endAtMs }) => endAtMs), await redis.admin.exists(LIST)];
    await Promise.all(ends.map((end, i) => end({ endAtMs: Date.now() - 1_000 * i })));

    const events = await readEvents({ store: newStore() });

    expect(lasting).toEqual([[null], 0]);
    expect(events).toHaveLength(1);
    expect(Number(events[0]?.endAtMs) - Number(events[0]?.atMs)).toBeGreaterThan(59_000);
  });

  it('names all limiters of a store that was away', async () => {
    let isDown = false;
    const store = newStore(redis.client, () => isDown && failing());
    const [api, login] = ['api', 'login'].map((name) => createLimiter({ name, policy: numbers(2), store }));
    isDown = true;
    for (let i = 0; i < 5; i++) await api?.consume('eve');
    isDown = false;

    await until('it is written', async () => (await readEvents({ store: newStore() })).length === 1);
    await Promise.all([api?.close(), login?.close()]);

    const [event] = await readEvents({ store: newStore() });
    expect(event).toMatchObject({ what: 'outage', limit: 'api, login', key: null, endAtMs: expect.any(Number) });
  });
});

describe('what is added to a timeline at once', () => {
  type EventList = ConstructorParameters<typeof Timeline>[0];
  const block = { atMs: Date.now(), what: 'block', limit: 'api' } as const;
  /** A list that answers when it is told to, and what it was given to write. */
  const slowList = (): { readonly list: EventList; readonly puts: string[][]; answer(): void } => {
    const puts: string[][] = [];
    let answer = (): void => undefined;
    const list: EventList = {
      read: () => Promise.resolve({ nowMs: Date.now(), lines: [] }),
      put: (lines) => {
        puts.push(lines.map(({ text }) => String((JSON.parse(text) as LimitEvent).key)));
        return new Promise((resolve) => (answer = resolve));
      },
    };
    return { list, puts, answer: () => answer() };
  };

  it('is written in one call, however much it is, and again as it is at last', async () => {
    const { list, puts, answer } = slowList();
    const timeline = new Timeline(list);
    const keys = Array.from({ length: 100 }, (_, i) => `key-${String(i)}`);

    const added = keys.map((key) => timeline.add({ ...block, key }, key));
    await until('it is written', () => puts.length === 1);
    added.push(timeline.add({ ...block, key: 'bob' }, 'key-7'));
    answer();
    await until('it is written again', () => puts.length === 2);
    answer();
    await Promise.all(added);

    expect(puts).toEqual([keys, ['bob']]);
  });
});
