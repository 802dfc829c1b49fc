import { beforeEach, describe, expect, it } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { createLimiter, fixedWindow, redisStore, type Limiter, type Store } from '@sluice/old-core';
import { connectionOf, type RedisConnection } from '@sluice/old-core/spi';
import { startTcpProxy, until, useRedis } from '@sluice/testkit';
import { RedisPages, type PageRecord } from '@sluice/page/spi';
import type { PageChange } from '@sluice/page';
import { Sharing } from '../src/shared/sharing.ts';
import type { Snapshot } from '../src/snapshot.ts';
import { ask, pageWith, useCleanUp } from './serve-page.ts';

const later = useCleanUp();
const redis = useRedis();
beforeEach(async () => {
  await redis.admin.flushall();
});

type Made = ReturnType<typeof pageWith>;
const snapshotOf = async (made: Made): Promise<Snapshot> => (await ask(made, 'snapshot')).json;
const sharedOf = async (made: Made): Promise<NonNullable<Snapshot['shared']>> => {
  const { shared } = await snapshotOf(made);
  if (shared === null) throw new Error('the page shares nothing');
  return shared;
};

function limiterOn(store: Store, name = 'api', onStoreError: 'allow' | 'throw' = 'throw'): Limiter {
  const policy = fixedWindow({ limit: 1, window: '1h' });
  const limiter = createLimiter({ name, policy, store, timeoutMs: 60_000, onStoreError });
  later(() => limiter.close());
  return limiter;
}

/** Denies a key this often. */
async function deny(limiter: Limiter, key: string, times: number): Promise<void> {
  for (let i = 0; i <= times; i++) await limiter.consume(key);
}

/** A process that has denied these keys, as often as each says, and whose page shares that. */
async function startDenying(denials: Readonly<Record<string, number>>): Promise<ChildProcess> {
  const file = fileURLToPath(new URL('./children/denies.mjs', import.meta.url));
  const child = spawn(process.execPath, [file, redis.server.storeUrl, JSON.stringify(denials)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  later(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  await once(child.stdout, 'data');
  return child;
}

const recordsInRedis = (): Promise<string[]> => redis.admin.keys('sluice:page:{page}:of:*');
const recordOf = (more: Partial<PageRecord> = {}): PageRecord => ({
  process: { pid: 7, host: 'web-7', sinceMs: 1 },
  ...{ isHashed: false, sinceMs: 1, oneIn: 1, beyond: 0, keys: [], ...more },
});
const keyOf = (key: string, count: number): PageRecord['keys'][number] => ({
  ...{ id: 'x', limiter: 'api', policy: 'api', key, count, atLeast: count, atMost: count },
});
const pagesIn = (): RedisPages =>
  new RedisPages(connectionOf(redisStore(redis.client, { prefix: 'sluice' })) as RedisConnection);

describe('pages of two processes that share their counts', () => {
  it('each show what both deny, which processes that are, and what an operator did in the other', async () => {
    await startDenying({ ann: 4, bob: 1 });
    const made = pageWith({ share: true });
    const limiter = limiterOn(redisStore(redis.client, { prefix: 'sluice' }));
    await limiter.consume('ann'); // its limit is spent already
    await deny(limiter, 'eve', 1);
    // The record may have been written before all was denied.
    await until('all is told', async () => {
      const { others, keys: told } = await sharedOf(made);
      return others.length === 1 && told.map(({ count }) => count).join() === '5,1,1';
    });

    const { others, keys, oneIn, awaySinceMs } = await sharedOf(made);
    const id = String(keys[0]?.id);
    const blocked = await ask(made, 'block', { id, duration: '10m', reason: 'a flood', by: 'ops' });
    const elsewhere = pageWith({ share: true });
    await until('the change is told', async () => (await snapshotOf(elsewhere)).changes.length > 0);

    expect(others).toEqual([
      { pid: expect.any(Number), host: expect.any(String), sinceMs: expect.any(Number), ageMs: expect.any(Number) },
    ]);
    expect(others[0]?.pid).not.toBe(process.pid);
    expect(keys.map(({ key, count, atLeast, atMost }) => [key, count, atLeast, atMost])).toEqual([
      ['ann', 5, 5, 5],
      ['bob', 1, 1, 1],
      ['eve', 1, 1, 1],
    ]);
    expect([oneIn, awaySinceMs]).toEqual([1, null]);
    expect(blocked.status).toBe(200);
    expect((await snapshotOf(made)).changes).toHaveLength(1);
    expect((await snapshotOf(elsewhere)).changes).toEqual([
      expect.objectContaining({
        by: 'ops',
        action: 'block',
        target: 'ann of api',
        detail: 'for 10m',
        reason: 'a flood',
      }),
    ]);
  });

  it('end with the record of a process that was killed, which Redis forgets by itself', async () => {
    const child = await startDenying({ ann: 4 });
    const made = pageWith({ share: true });
    await deny(limiterOn(redisStore(redis.client, { prefix: 'sluice' }), 'other'), 'eve', 1);
    await until('the other page is known', async () => (await sharedOf(made)).others.length === 1);
    child.kill('SIGKILL');
    await once(child, 'exit');

    const records = await recordsInRedis();
    const leftMs = await Promise.all(records.map((key) => redis.admin.pttl(key)));
    await Promise.all(records.map((key) => redis.admin.pexpire(key, 1)));
    await until('it is not shown', async () => (await sharedOf(made)).others.length === 0);

    expect(leftMs.filter((ms) => ms <= 0 || ms > 30_000)).toEqual([]);
    expect((await sharedOf(made)).keys.map(({ key }) => key)).toEqual(['eve']);
  });

  it('write to the other places, while one of them hangs', async () => {
    const proxy = await startTcpProxy({ host: '127.0.0.1', port: redis.server.port });
    const [hung, healthy] = [
      redisStore(proxy.through(redis.server.storeUrl), { prefix: 'sluice' }),
      redisStore(redis.client, { prefix: 'sluice' }),
    ];
    later(() => hung.close());
    await limiterOn(hung, 'one').consume('ann');
    await limiterOn(healthy, 'two').consume('ann');
    later(() => {
      proxy.close();
    });
    const sharing = new Sharing(
      () => [hung, healthy],
      () => recordOf(),
    );
    proxy.hang();

    await sharing.write();
    const [name = ''] = await recordsInRedis();
    await redis.admin.del(name);
    await sharing.write();

    expect(await recordsInRedis()).toEqual([name]);
    expect(sharing.others.awaySinceMs).not.toBeNull();
    await proxy.heal();
    await until('all of them have taken it', async () => {
      await sharing.write();
      return sharing.others.awaySinceMs === null;
    });
  });

  it('say that a record was not taken, whatever is read meanwhile, and reject nothing', async () => {
    const store = redisStore(redis.client, { prefix: 'sluice' });
    await limiterOn(store).consume('ann');
    let isBroken = true;
    const sharing = new Sharing(
      () => [store],
      () => {
        if (isBroken) throw new Error('no record');
        return recordOf();
      },
    );

    await sharing.write();
    await sharing.refresh();
    const broken = sharing.others.awaySinceMs;
    isBroken = false;
    void sharing.write();
    await sharing.close(); // waits for the write

    expect(broken).not.toBeNull();
    expect(sharing.others.awaySinceMs).toBeNull();
    expect(await recordsInRedis()).toHaveLength(1);
  });

  it('say so where the stores cannot be listed', async () => {
    const sharing = new Sharing(
      () => {
        throw new Error('no stores');
      },
      () => recordOf(),
    );

    await sharing.write();
    await sharing.refresh();

    expect(sharing.others.awaySinceMs).not.toBeNull();
  });

  it('tell when Redis does not answer, and go on counting', async () => {
    const proxy = await startTcpProxy({ host: '127.0.0.1', port: redis.server.port });
    later(() => {
      proxy.close();
    });
    const store = redisStore(proxy.through(redis.server.storeUrl), { prefix: 'sluice' });
    later(() => store.close());
    const made = pageWith({ share: true });
    const limiter = limiterOn(store, 'api', 'allow');
    await deny(limiter, 'eve', 2);
    await until('its record is there', async () => (await recordsInRedis()).length === 1);
    proxy.deny();
    proxy.cut();

    await until('that is told', async () => (await sharedOf(made)).awaySinceMs !== null);
    const inMemory = createLimiter({ name: 'own', policy: fixedWindow({ limit: 1, window: '1h' }) });
    later(() => inMemory.close());
    await deny(inMemory, 'max', 3);

    expect((await sharedOf(made)).keys.map(({ key, count }) => [key, count])).toEqual([
      ['max', 3],
      ['eve', 2],
    ]);
    await proxy.heal();
    await until('it is back', async () => (await sharedOf(made)).awaySinceMs === null);
  });
});

describe('what a page shares', () => {
  it('is nothing, unless it is asked to', async () => {
    const made = pageWith();
    await deny(limiterOn(redisStore(redis.client, { prefix: 'sluice' })), 'ann', 1);

    expect(await snapshotOf(made)).toMatchObject({ shared: null });
    expect(await recordsInRedis()).toEqual([]);
    expect(() => pageWith({ share: 'yes' as never })).toThrow(expect.objectContaining({ field: 'share' }));
  });

  it('is one write in five seconds, and not one for each denial', async () => {
    const made = pageWith({ share: true });
    const limiter = limiterOn(redisStore(redis.client, { prefix: 'sluice' }));
    for (let i = 0; i < 200; i++) await deny(limiter, `key-${String(i)}`, 2);
    await until('it is written', async () => (await recordsInRedis()).length === 1);
    await snapshotOf(made);

    const writes = (await redis.admin.info('commandstats')).match(/cmdstat_set:calls=(\d+)/)?.[1];

    // A script call for each allowed request; denials are answered by the cache; and list and text for each write.
    expect(Number(writes)).toBeLessThan(200 + 200 + 100);
  });

  it('has no key in it where keys are shown hashed, also not those of other processes', async () => {
    const made = pageWith({ share: true, showKeys: 'hashed' });
    await deny(limiterOn(redisStore(redis.client, { prefix: 'sluice' })), 'ann@mail', 2);
    const pages = pagesIn();
    await pages.put('other', recordOf({ keys: [keyOf('ann@mail', 5), keyOf('bob@mail', 9)] }));
    const target = 'bob@mail of api';
    await pages.addChange('1', {
      ...{ atMs: 5, by: 'ops', action: 'block', target, detail: '', reason: 'x', isHashed: false },
    });
    await until('its record is there', async () => (await recordsInRedis()).length === 2);
    await until('the other page is known', async () => (await sharedOf(made)).others.length === 1);

    const { shared, changes } = await snapshotOf(made);
    const written = await Promise.all((await recordsInRedis()).map((key) => redis.admin.get(key)));

    expect(shared?.keys.map(({ key, count }) => [key, count])).toEqual([
      [expect.stringMatching(/^#\S{16}$/), 9],
      [expect.stringMatching(/^#\S{16}$/), 7],
    ]);
    expect(changes).toEqual([expect.objectContaining({ target: 'a key' })]);
    expect(written.filter((text) => text?.includes('mail') === true && !text.includes('web-7'))).toEqual([]);
  });

  it('is the hash of a long key, also as the target of a change: no part of a token is in Redis', async () => {
    const token = `sk-live-${'0123456789'.repeat(27)}`;
    const told: PageChange[] = [];
    const made = pageWith({ share: true, log: (change) => told.push(change) });
    await deny(limiterOn(redisStore(redis.client, { prefix: 'sluice' })), token, 2);
    const { denied } = await snapshotOf(made);
    await ask(made, 'block', { id: denied.keys[0]?.id, duration: '10m', reason: 'a flood', by: 'ops' });
    const pages = pagesIn();
    await until('both are told', async () => {
      const { pages: written, changes } = await pages.read();
      return changes.length > 0 && (written[0]?.record.keys.length ?? 0) > 0;
    });

    const names = await redis.admin.keys('sluice:page:*');
    const texts = await Promise.all(names.map((name) => redis.admin.get(name)));
    const { pages: written, changes } = await pages.read();
    await snapshotOf(made);

    expect(texts.filter((text) => text?.includes('sk-live'))).toEqual([]);
    expect(written[0]?.record.keys.map(({ key, subject }) => [key, subject])).toEqual([
      [expect.stringMatching(/^#[\w-]{22}$/), undefined],
    ]);
    expect(changes.map(({ target }) => target)).toEqual([expect.stringMatching(/^#[\w-]{22} of api$/)]);
    // Who uses the page sees the beginning, and the change once.
    expect(told.map(({ target }) => target)).toEqual([expect.stringMatching(/^sk-live-0.* of api$/)]);
    expect((await snapshotOf(made)).changes).toEqual(told);
  });

  it('is text, whatever the keys are, and stays small', async () => {
    const keys = ['<script>alert(1)</script>', 'x'.repeat(1_000_000), 'a\u202eb', 'line\nfeed \u0000', '\ud800'];
    const first = pageWith({ share: true });
    const limiter = limiterOn(redisStore(redis.client, { prefix: 'sluice' }));
    for (const key of keys) await deny(limiter, key, 1);
    const all = async () => (await pagesIn().read()).pages[0]?.record.keys.length === keys.length;
    await until('all of it is written', all);
    await first.close();
    const made = pageWith({ share: true });
    await until('the record is read', async () => (await sharedOf(made)).keys.length > 0);

    const shown = (await sharedOf(made)).keys.map(({ key }) => key);
    const [bytes = 0] = await Promise.all((await recordsInRedis()).map((key) => redis.admin.strlen(key)));

    expect((await sharedOf(made)).others).toEqual([]); // it is of this process
    expect(shown).toHaveLength(keys.length);
    expect(shown).toEqual(expect.arrayContaining([keys[0], keys[2], keys[3], expect.stringMatching(/^#[\w-]{22}$/)]));
    expect(bytes).toBeLessThan(10_000);
  });
});

describe('what others have written to Redis', () => {
  it.each([
    ['no JSON', '{'],
    ['no record', '[]'],
    ['counts that are none', JSON.stringify(recordOf({ keys: [{ ...keyOf('a', 1), count: -1 }] }))],
    ['more keys than pages write', JSON.stringify(recordOf({ keys: Array.from({ length: 51 }, () => keyOf('a', 1)) }))],
    ['a key that is no text', JSON.stringify(recordOf({ keys: [{ ...keyOf('a', 1), key: {} as never }] }))],
    ['a text without an end', JSON.stringify(recordOf({ process: { pid: 1, host: 'x'.repeat(300_000), sinceMs: 1 } }))],
  ])('is not shown where it is %s', async (_what, text) => {
    const pages = pagesIn();
    await pages.put('good', recordOf({ keys: [keyOf('ann', 3)] }));
    await pages.put('bad', recordOf());
    await redis.admin.set('sluice:page:{page}:of:bad', text, 'KEEPTTL');

    const { pages: read, unreadable } = await pages.read();

    expect([read.map(({ id }) => id), unreadable]).toEqual([['good'], 1]);
  });

  it('is what this version knows, and no more', async () => {
    const pages = pagesIn();
    const record = recordOf({ keys: [keyOf('ann', 3)] });
    const { process: of, keys } = record;
    const more = { more: 'x' };
    const change = {
      atMs: 1,
      by: 'ops',
      action: 'block',
      target: 'x',
      detail: '',
      reason: '',
      isHashed: false,
    } as const;
    await pages.put('a', { ...record, ...more, process: { ...of, ...more }, keys: [{ ...keys[0], ...more }] } as never);
    await pages.addChange('1', { ...change, ...more });
    await pages.addChange('2', { ...change, isHashed: 'no' } as never);

    const read = await pages.read();

    expect(read.pages.map((page) => page.record)).toEqual([record]);
    expect(read.changes).toEqual([change]);
  });

  it('is read whatever separates lines elsewhere, and with the id of a key of control characters', async () => {
    const pages = pagesIn();
    const key = { ...keyOf('\u0000'.repeat(256), 1), id: 'x'.repeat(2_500) };
    await pages.put('a', recordOf({ keys: [key] }));
    const reason = 'one\u2028two\u2029three\rfour\nfive';
    const change = { atMs: 1, by: 'ops', action: 'block', target: 'x', detail: '', reason, isHashed: false } as const;
    await pages.addChange('1', change);

    const read = await pages.read();

    expect(read.pages.map(({ record }) => record.keys)).toEqual([[key]]);
    expect(read.changes).toEqual([change]);
  });

  it('ends a list of pages at two hundred, and one of changes at a hundred, the oldest first', async () => {
    const pages = pagesIn();
    for (let i = 0; i < 205; i++) await pages.put(`p${String(i)}`, recordOf());
    const change = { atMs: 1, by: 'ops', action: 'block', target: 'x', detail: '', isHashed: false } as const;
    for (let i = 0; i < 103; i++) await pages.addChange(`c${String(i)}`, { ...change, reason: String(i) });

    const read = await pages.read();

    expect([read.pages.length, read.changes.length]).toEqual([200, 100]);
    expect([read.pages[0]?.id, read.pages.at(-1)?.id]).toEqual(['p204', 'p5']);
    expect([read.changes[0]?.reason, read.changes.at(-1)?.reason]).toEqual(['102', '3']);
  });

  it('leaves the list of pages when its time has ended, and when it is no line', async () => {
    await redis.admin.set('sluice:page:{page}:live', `1 ended \nno line\n${'9'.repeat(400)}`);
    await pagesIn().put('one', recordOf());

    const list = await redis.admin.get('sluice:page:{page}:live');

    expect([list, (await pagesIn().read()).pages.map(({ id }) => id)]).toEqual([
      expect.stringMatching(/^\d{13} one $/),
      ['one'],
    ]);
  });

  it('is read through one client, which is asked for once', async () => {
    const connection = connectionOf(redisStore(redis.client, { prefix: 'sluice' })) as RedisConnection;
    let opened = 0;
    const open: RedisConnection['open'] = async () => {
      opened++;
      return connection.open();
    };
    await pagesIn().put('one', recordOf());

    const read = await new RedisPages({ ...connection, open }).read();

    expect([read.pages.length, opened]).toEqual([1, 1]);
  });

  it('is one line for each page, however often it writes', async () => {
    const pages = pagesIn();
    for (let i = 0; i < 3; i++) await pages.put('one', recordOf({ keys: [keyOf('ann', i)] }));

    const read = await pages.read();

    expect(read.pages.map(({ id, record }) => [id, record.keys[0]?.count])).toEqual([['one', 2]]);
  });
});
