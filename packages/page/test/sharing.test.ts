import { beforeEach, describe, expect, it } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createLimiter, fixedWindow, readEvents, redisStore, type Limiter, type Store } from '@sluice/core';
import { connectTo } from '@sluice/core/spi';
import { startTcpProxy, until, useRedis, type TcpProxy } from '@sluice/testkit';
import { mergeLost, readShared, shareRecord, type PageRecord } from '@sluice/page/spi';
import type { Snapshot } from '../src/snapshot.ts';
import { ask, closing, lookUp, pageWith, readSnapshot } from './serve-page.ts';

const redis = useRedis();
beforeEach(async () => {
  await redis.admin.flushall();
});

type Made = ReturnType<typeof pageWith>;
const LIST = 'sluice:{#page}:denied';
const deniedOf = async (made: Made): Promise<Snapshot['denied']> => (await readSnapshot(made)).denied;
const isBlock = ({ what }: { readonly what: string }): boolean => what === 'block';
const connection = () => connectTo(redis.client, 'sluice', 'test');
const storeOf = (): Store => redisStore(redis.client, { prefix: 'sluice' });

function limiterOn(store: Store, name = 'api'): Limiter {
  const policy = fixedWindow({ limit: 1, window: '1h' });
  return closing(createLimiter({ name, policy, store, timeoutMs: 60_000, onStoreError: 'allow' }));
}

/** Denies a key this often, which has not been used yet. */
async function deny(limiter: Limiter, key: string, times: number): Promise<void> {
  for (let i = 0; i <= times; i++) await limiter.consume(key);
}

/** A process that has denied these keys, as often as each says, and whose page shares that. */
async function startDenying(denials: Readonly<Record<string, number>>): Promise<ChildProcess> {
  const file = fileURLToPath(new URL('./children/denies.mjs', import.meta.url));
  const child = spawn(process.execPath, [file, redis.server.storeUrl, JSON.stringify(denials)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  closing(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  await once(child.stdout, 'data');
  return child;
}

/** A page that shares two denials of eve with a Redis that may go away. */
async function shareThroughProxy(): Promise<{ readonly proxy: TcpProxy; readonly made: Made }> {
  const proxy = closing(await startTcpProxy({ host: '127.0.0.1', port: redis.server.port }));
  const made = pageWith({ share: true });
  await deny(limiterOn(redisStore(proxy.through(redis.server.storeUrl), { prefix: 'sluice' })), 'eve', 2);
  return { proxy, made };
}

const recordOf = (more: Partial<PageRecord> = {}): PageRecord => ({
  ...{ pid: 7, host: 'web-7', sinceMs: 1, deniedByMinute: [], keys: [], lost: [], ...more },
});
const keyOf = (key: string, count: number): PageRecord['keys'][number] => ({
  ...{ limiter: 'api', limit: '}:api', policy: 'api', key, count, denials: [] },
});

describe('pages of two processes that share their counts', () => {
  it('each show what both deny, which processes that are, and what an operator did in the other', async () => {
    const child = await startDenying({ ann: 4, bob: 1 });
    const made = pageWith({ share: true });
    const limiter = limiterOn(storeOf());
    await limiter.consume('ann'); // its limit is spent already
    await deny(limiter, 'eve', 1);
    await until('all is told', async () => (await deniedOf(made)).keys.length === 3);

    const { others, keys, awaySinceMs } = await deniedOf(made);
    const { status } = await ask(made, 'block', { id: keys[1]?.id, duration: '10m', reason: 'a flood', by: 'ops' });
    const elsewhere = pageWith({ share: true });
    await until('the change is told', async () => (await readSnapshot(elsewhere)).events.some(isBlock));

    expect(others).toEqual([{ pid: child.pid, host: expect.any(String), ageMs: expect.any(Number) }]);
    expect(keys.map(({ key, count }) => [key, count])).toEqual([
      ['ann', 5],
      ['bob', 1],
      ['eve', 1],
    ]);
    expect([awaySinceMs, status, (await limiter.peek(String(keys[1]?.key))).outcome]).toEqual([null, 200, 'blocked']);
    const change = { what: 'block', key: 'bob', limit: 'api', by: 'ops', reason: 'a flood' };
    for (const one of [made, elsewhere])
      expect((await readSnapshot(one)).events.filter(isBlock)).toMatchObject([change]);
  });

  it('each show when a key was denied by the other, and by which numbers', async () => {
    await startDenying({ vip: 2 });
    const made = pageWith({ share: true });
    limiterOn(storeOf());
    await until('it is told', async () => (await deniedOf(made)).keys.length === 1);

    const [state] = await lookUp(made, 'vip');
    const { text } = await ask(made, 'key', { key: 'vip' }, { fields: { accept: 'text/html' } });

    const denied = { policy: 'api', count: 2, used: 1, limit: 1, windowMs: 3_600_000, isBlocked: false };
    expect(state?.denials).toEqual([{ ...denied, atMs: expect.any(Number) }]);
    expect(text).toMatch(/<time [^>]*>[^<]*<\/time>: denied 2 times, 1 of 1 in 1h/);
    expect((await deniedOf(made)).byMinute.reduce((sum, count) => sum + count)).toBe(2);
  });

  it('say since when Redis does not answer, and go on counting', async () => {
    const { proxy, made } = await shareThroughProxy();
    await until('its record is there', async () => (await redis.admin.exists(LIST)) === 1);
    proxy.deny();
    proxy.cut();

    await until('that is told', async () => (await deniedOf(made)).awaySinceMs !== null);
    const own = closing(createLimiter({ name: 'own', policy: fixedWindow({ limit: 1, window: '1h' }) }));
    await deny(own, 'max', 3);

    expect((await deniedOf(made)).keys.map(({ key, count }) => [key, count])).toEqual([
      ['max', 3],
      ['eve', 2],
    ]);
    await proxy.heal();
    await until('it is back', async () => (await deniedOf(made)).awaySinceMs === null);
  });

  it('answer within a second while Redis hangs', async () => {
    const { proxy, made } = await shareThroughProxy();
    proxy.hang();

    const answered = await Promise.race([deniedOf(made), sleep(30_000, undefined, { ref: false })]);

    expect(answered).toMatchObject({ keys: [{ key: 'eve' }] });
    await proxy.heal();
  });
});

describe('what a page shares', () => {
  it('is nothing, unless it is asked to', async () => {
    const made = pageWith();
    await deny(limiterOn(storeOf()), 'ann', 1);
    await sleep(2_000);

    expect([(await deniedOf(made)).others, await redis.admin.exists(LIST)]).toEqual([null, 0]);
  });

  it('ends half a minute after its process does', async () => {
    await shareRecord(connection(), recordOf());
    const leftMs = await redis.admin.pttl(LIST);
    await redis.admin.set(LIST, String(await redis.admin.get(LIST)).replace(/^\d+/, '1'));

    expect(leftMs).toBeGreaterThan(20_000);
    expect(leftMs).toBeLessThanOrEqual(30_000);
    expect(await readShared(connection())).toEqual([]);
  });

  it('is the hash of a long key, also of one that was changed: no part of a token is in Redis', async () => {
    const token = `sk-live-${'0123456789'.repeat(27)}`;
    const made = pageWith({ share: true });
    await deny(limiterOn(storeOf()), token, 2);
    const { keys } = await deniedOf(made);
    await ask(made, 'block', { id: keys[0]?.id, duration: '10m', reason: 'a flood', by: 'ops' });
    await until('that is told', async () => {
      const records = await readShared(connection());
      return records.some((record) => record.keys.length > 0);
    });

    const records = await readShared(connection());
    const events = await readEvents({ store: storeOf() });

    expect(keys[0]?.key).toMatch(/^sk-live-0.*… \(278 characters\)$/);
    expect(JSON.stringify([records, events])).not.toContain('sk-live');
    expect(records[0]?.keys.map(({ key }) => key)).toEqual([expect.stringMatching(/^#[\w-]{22}$/)]);
    expect(events[0]).toMatchObject({ what: 'block', key: records[0]?.keys[0]?.key });
  });
});

describe('what others have written to Redis', () => {
  it('is shown of a key under its own limit alone, as one denial a minute for all processes', async () => {
    const made = pageWith({ share: true });
    const limiter = limiterOn(storeOf());
    const denial = { atMs: Date.now(), count: 4, used: 9, limit: 9, windowMs: 60_000, isBlocked: false };
    const records = ['}:other', '}:api', '}:api'].map((limit, i) => {
      return recordOf({
        pid: i + 1,
        keys: [{ ...keyOf('ann', 4), limit, denials: [{ ...denial, used: limit === '}:api' ? 2 : 1 }] }],
      });
    });
    for (const record of records) await shareRecord(connection(), record);
    await limiter.consume('ann');

    const [state] = await lookUp(made, 'ann');

    expect(state?.denials).toEqual([{ ...denial, count: 8, used: 2, policy: 'api' }]);
  });

  it.each([
    ['no JSON', '{'],
    ['no record', '[]'],
    ['counts that are none', JSON.stringify(recordOf({ keys: [{ ...keyOf('a', 1), count: -1 }] }))],
    ['more keys than pages write', JSON.stringify(recordOf({ keys: Array.from({ length: 26 }, () => keyOf('a', 1)) }))],
    ['denials that are none', JSON.stringify(recordOf({ keys: [{ ...keyOf('a', 1), denials: [{}] as never }] }))],
    ['an instant that is no date', JSON.stringify(recordOf({ sinceMs: 9e15 }))],
    ['a key that is no text', JSON.stringify(recordOf({ keys: [{ ...keyOf('a', 1), key: {} as never }] }))],
    ['longer than pages write', JSON.stringify(recordOf({ host: 'x'.repeat(10_000) }))],
  ])('is not shown if it is %s', async (_what, text) => {
    await shareRecord(connection(), recordOf({ keys: [keyOf('ann', 3)] }));
    const good = String(await redis.admin.get(LIST));
    await redis.admin.set(LIST, `9999999999999 bad ${text}\n${good}\nno line`);

    expect((await readShared(connection())).map(({ pid }) => pid)).toEqual([7]);
  });

  it('is bounded: a list of more than a megabyte is not read, and the next record replaces it', async () => {
    await redis.admin.set(LIST, `9999999999999 big ${JSON.stringify('x'.repeat(2_000_000))}`);

    expect(await readShared(connection())).toEqual([]);
    for (let pid = 1; pid <= 110; pid++) await shareRecord(connection(), recordOf({ pid, keys: [keyOf('ann', 3)] }));
    const records = await readShared(connection());

    expect([records.length, records[0]?.pid]).toEqual([100, 110]);
  });

  it('is read whatever the keys are, without those that are too long together', async () => {
    const keys = [
      'line\nfeed \u0000',
      '<script>',
      'a\u202eb',
      ...Array.from({ length: 20 }, () => '\u0000'.repeat(256)),
    ];
    await shareRecord(connection(), recordOf({ keys: keys.map((key) => keyOf(key, 2)) }));

    const [record] = await readShared(connection());

    expect(record?.keys.slice(0, 3).map(({ key }) => key)).toEqual(keys.slice(0, 3));
    expect(record?.keys.length).toBe(10);
  });

  it('has the first 25 names of lost policies, however many processes have lost others', () => {
    const records = Array.from({ length: 100 }, (_, i) => recordOf({ lost: [`policy-${String(i)}`] }));

    expect(mergeLost(records)).toHaveLength(25);
  });
});
