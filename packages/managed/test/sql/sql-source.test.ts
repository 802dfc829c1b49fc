import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { fixedWindow, memoryStore, type Limiter, type Policy } from '@sluice/core';
import { managed, sqlSource, type ListeningClient, type Policies, type SqlQuery } from '@sluice/managed';
import { until } from '@sluice/testkit';
import { dialectOf, VERSION } from '../../src/sql/dialects.ts';
import { listenOn } from '../../src/sql/listening.ts';
import { useManaged } from '../use-managed.ts';
import { databases, realDatabases, type Database } from './databases.ts';
import { sqlStub } from './stub.ts';

const { policies, limiter, warnings } = useManaged();

const apps = ['checkout'];
const timeoutMs = 60_000;
const everyMs = 20;
const of = (limit: number): Policy => fixedWindow({ limit, window: '1h' });

function limiterOver(there: Policies): Limiter {
  return limiter({ policy: managed('orders'), policies: there, store: memoryStore(), timeoutMs });
}

describe.each(databases)('policies in %s', (_name, open) => {
  let database: Database;
  beforeEach(async () => {
    database = await open();
  });
  afterEach(() => database.close());
  const process = (): Policies => policies(sqlSource({ query: database.query, everyMs }));

  it('are put, read, listed and removed, by every process', async () => {
    const [here, there] = [process(), process()];

    const put = await here.put('orders', of(10), { apps });
    await here.put('login', of(3), { apps });
    const again = await there.put('orders', of(10), { apps });
    const isRemoved = await there.remove('login');

    expect([put.change, again.change, again.version === put.version]).toEqual(['created', 'unchanged', true]);
    expect(isRemoved).toBe(true);
    expect((await here.list()).map(({ name }) => name)).toEqual(['orders']);
    expect(await here.get('login')).toBeUndefined();
    expect(await here.remove('login')).toBe(false);
  });

  it('are compared and set: concurrent changes by many processes all count', async () => {
    await process().put('orders', of(1), { apps });

    const put = await Promise.all(
      [2, 3, 4, 5, 6].map(async (limit) => (await process().put('orders', of(limit), { apps })).version),
    );

    const versions = [...put].sort((one, other) => one - other);
    expect(new Set(versions).size).toBe(5);
    expect((await process().get('orders'))?.version).toBe(versions.at(-1));
  });

  it('change in limiters, and so do overrides', async () => {
    const here = process();
    await here.put('orders', of(10), { apps });
    await here.override('orders', 'ann', of(50), { by: 'eve', reason: 'a sale' });
    const orders = limiterOver(process());
    const before = [(await orders.peek('ann')).limit, (await orders.peek('bob')).limit];

    await here.put('orders', of(20), { apps });
    await here.override('orders', { prefix: 'b' }, of(30));
    await here.removeOverride('orders', 'ann');
    await until('all is heard of', async () => (await orders.peek('ann')).limit === 20);
    await until('the prefix too', async () => (await orders.peek('bob')).limit === 30);

    expect(before).toEqual([50, 10]);
    expect((await here.overrides('orders', { ended: true })).length).toBe(2);
  });

  it('keep keys apart that differ in case, or in spaces at their end', async () => {
    const here = process();
    await here.put('orders', of(10), { apps });
    for (const [i, key] of ['ann', 'Ann', 'ann ', 'änn'].entries()) await here.override('orders', key, of(20 + i));
    const orders = limiterOver(process());

    const limits = await Promise.all(['ann', 'Ann', 'ann ', 'änn', 'ANN'].map((key) => orders.peek(key)));

    expect(limits.map(({ limit }) => limit)).toEqual([20, 21, 22, 23, 10]);
  });

  it('that are lost stay in use, and are put again when the version has gone back', async () => {
    const here = process();
    await here.put('orders', of(10), { apps });
    await here.put('orders', of(11), { apps });
    const orders = limiterOver(process());
    await orders.consume('ann', 4);

    await database.lose();
    const there = process();
    const lost = await there.get('orders');
    const kept = await orders.consume('ann');
    await there.put('orders', of(12), { apps });
    await until('the new one counts', async () => (await orders.peek('ann')).limit === 12);

    expect(lost).toBeUndefined();
    expect(kept).toMatchObject({ limit: 11, remaining: 6 });
    expect((await orders.consume('bob')).remaining).toBe(11);
  });

  it('of thousands are read a page at a time', async () => {
    const here = process();
    await here.put('orders', of(10), { apps });
    await here.override('orders', 'ann', of(50));
    const { put } = dialectOf(database.version, 'sluice_policies');
    const record = JSON.stringify({ format: 1, version: 1, policy: of(60), changedAtMs: 1, earlier: [] });
    for (let i = 0; i < 1100; i++) await database.query(put, [`orders:key:${String(i)}`, record, 1, 0]);

    const orders = limiterOver(process());

    expect((await orders.peek('1099')).limit).toBe(60);
    expect(await here.overrides('orders')).toHaveLength(1101);
  });
});

describe('a poll', () => {
  it.each<[string, (row: object) => object]>([
    ['of a counter below 0', (row) => ({ ...row, counter: -1 })],
    ['of versions that are none', (row) => ({ ...row, version: 'x' })],
    ['of versions that do not rise', (row) => ({ ...row, version: 1 })],
  ])('ends with an error for rows %s', async (_what, lie) => {
    const stub = sqlStub();
    const here = policies(sqlSource({ query: stub.query }));
    await here.put('orders', of(10), { apps });
    const [row] = await stub.query(dialectOf('PostgreSQL', 'sluice_policies').changes, [0, 0, 1]);
    const query: SqlQuery = async (statement, values) =>
      statement === VERSION ? stub.query(statement, values) : Array.from({ length: 1000 }, () => lie(row as object));
    const source = sqlSource({ query });

    await expect(source.load()).rejects.toMatchObject({ code: 'SLUICE_STORE_REPLY_INVALID' });
    await expect(source.overrides?.changes(undefined)).rejects.toMatchObject({ code: 'SLUICE_STORE_REPLY_INVALID' });
  });

  it('reads only rows above the last version', async () => {
    const stub = sqlStub();
    const here = policies(sqlSource({ query: stub.query }));
    for (const name of ['orders', 'login', 'search']) await here.put(name, of(10), { apps });
    const source = sqlSource({ query: stub.query });
    await source.load();
    const before = await source.load();
    stub.sent.length = 0;

    const same = await source.load();
    await here.put('login', of(11), { apps });
    stub.sent.length = 0;
    const after = await source.load();

    expect(same).toBe(before);
    expect(stub.sent).toEqual([{ what: 'select', rows: 1 }]);
    expect(after['orders']).toBe(before['orders']);
    expect(after['login']).not.toBe(before['login']);
  });

  it.each(['rejects', 'hangs'] as const)('that %s leaves what was read last in use', async (how) => {
    const stub = sqlStub();
    const here = policies(sqlSource({ query: stub.query, everyMs }));
    await here.put('orders', of(10), { apps });
    const orders = limiterOver(policies(sqlSource({ query: stub.query, everyMs })));
    await orders.consume('ann');

    stub.how = how;
    const whileAway = await orders.consume('ann');
    stub.how = 'there';
    await here.put('orders', of(20), { apps });
    await until('the change is heard of', async () => (await orders.peek('ann')).limit === 20);

    expect(whileAway).toMatchObject({ limit: 10, remaining: 8 });
  });

  it('of tables that were not made says how they are', async () => {
    const query: SqlQuery = (text) => Promise.resolve(text === VERSION ? [{ version: 'PostgreSQL 15' }] : []);

    await expect(policies(sqlSource({ query })).list()).rejects.toThrow(/run the migrations of @sluice\/managed/);
  });
});

describe('notifications', () => {
  /** Of a database, or of a pooler that swallows them. */
  function listeningTo(emitter: EventEmitter, isSwallowing = false): { client: ListeningClient; query: SqlQuery } {
    const client = Object.assign(emitter, { query: () => Promise.resolve() });
    const query: SqlQuery = (_text, [, payload]) => {
      if (!isSwallowing) setImmediate(() => emitter.emit('notification', { payload }));
      return Promise.resolve([]);
    };
    return { client, query };
  }

  it('are a hint to poll, and a probe that arrives is none', async () => {
    const emitter = new EventEmitter();
    let heard = 0;
    const stop = await listenOn(
      { ...listeningTo(emitter), channel: 'heard', probeMs: 600_000 },
      () => heard++,
      () => undefined,
    );
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    const afterProbe = heard;
    emitter.emit('notification', { payload: '' });
    await stop();
    emitter.emit('notification', { payload: '' });

    expect([afterProbe, heard]).toEqual([0, 1]);
    expect(warnings).toEqual([]);
  });

  it('that a pooler swallows are warned of', async () => {
    const listening = listeningTo(new EventEmitter(), true);

    const stop = await listenOn(
      { ...listening, channel: 'swallowed', probeMs: 1 },
      () => undefined,
      () => undefined,
    );
    await until('the warning is given', () => warnings.length > 0);
    await stop();

    expect(warnings).toEqual([expect.stringMatching(/^SLUICE_LISTEN_SILENT: .*channel swallowed .*polling/)]);
  });
});

describe('options of sqlSource', () => {
  const query: SqlQuery = () => Promise.resolve([]);
  it.each([
    [{}, 'query'],
    [{ query, table: 'x; drop table y' }, 'table'],
    [{ query, everyMs: 0 }, 'everyMs'],
    [{ query, listen: {} }, 'listen'],
    [{ query, poll: 1 }, 'poll'],
  ])('%j: an error names %s', (options, field) => {
    expect(() => sqlSource(options as Parameters<typeof sqlSource>[0])).toThrow(expect.objectContaining({ field }));
  });
});

// Only in the row `sql` of the matrix: it proves what the stubs answer.
for (const [name, open] of realDatabases) {
  describe(name, () => {
    it('answers as its stub does', async () => {
      const database = await open();
      const stub = sqlStub(database.version);
      const { changes, read, put, hasWritten } = dialectOf(database.version, 'sluice_policies');
      const transcript = async (query: SqlQuery): Promise<unknown> => {
        const written = [];
        for (const [name, before] of [
          ['a', 0],
          ['b', 0],
          ['a', 0],
          ['a', 1],
          ['b', 1],
          ['b', 2],
        ] as const) {
          written.push(hasWritten(await query(put, [name, `{"of":"${name}"}`, name === 'b' ? 1 : 0, before])));
        }
        const found = [];
        for (const [after, isOverride, most] of [
          [0, 0, 9],
          [0, 1, 9],
          [4, 0, 9],
          [6, 1, 9],
        ] as const) {
          const rows = (await query(changes, [after, isOverride, most])) as readonly Record<string, unknown>[];
          found.push(
            rows.map(({ name, record, version, counter, now_ms }) => [
              ...[name, record, version, counter].map((value) =>
                value === null ? null : String(value as string | number),
              ),
              Math.abs(Number(now_ms) - Date.now()) < 3_600_000,
            ]),
          );
        }
        const [row] = (await query(read, ['a'])) as readonly { record: unknown; version: unknown }[];
        return { written, found, row: [String(row?.record), Number(row?.version)], none: await query(read, ['c']) };
      };

      expect(await transcript(database.query)).toEqual(await transcript(stub.query));
      await database.close();
    });

    if (name !== 'Postgres') return;
    it('notifies of a change, so that it is polled for', async () => {
      const database = await open();
      const client = await (database.listen as NonNullable<Database['listen']>)();
      const here = policies(sqlSource({ query: database.query }));
      await here.put('orders', of(10), { apps });
      const there = policies(sqlSource({ query: database.query, everyMs: 600_000, listen: client }));
      const orders = limiterOver(there);
      await orders.consume('ann');

      await here.put('orders', of(20), { apps });
      await until('it is heard of', async () => (await orders.peek('ann')).limit === 20);

      await orders.close();
      await client.end();
      await database.close();
    });
  });
}
