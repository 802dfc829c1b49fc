import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import * as jest from '@jest/globals';
import { expectWarnings, sqlServers, startTcpProxy, until, type SqlServer, type TcpProxy } from '@sluice/testkit';
import { build } from 'esbuild';
import { createConnection, createPool } from 'mysql2/promise';
import { Client, Pool } from 'pg';
import postgres from 'postgres';
import { createLimiter, fixedWindow, type Store } from '../../src/index.ts';
import { mysqlStore } from '../../src/mysql/index.ts';
import { postgresStore } from '../../src/postgres/index.ts';
import { ALLOWED, USED } from '../../src/program/decide.ts';
import type { Answer } from '../../src/stores/store.ts';
import { describeStore } from '../../src/testing/index.ts';

const { afterAll, beforeAll, describe, expect, it } = jest;

type SqlStore = Store & { migrate(): Promise<void> };

/** A store through a client of its own, and what closes that. */
type Open = (url: string) => { readonly store: SqlStore; close(): Promise<unknown> };

const byPg: Open = (url) => {
  const pool = new Pool({ connectionString: url, connectionTimeoutMillis: 1000 });
  return { store: postgresStore(pool, { prefix: 'shop' }), close: () => pool.end() };
};
const byPostgres: Open = (url) => {
  const sql = postgres(url, { onnotice: () => undefined });
  return { store: postgresStore(sql, { prefix: 'js', table: 'public.other', durable: true }), close: () => sql.end() };
};
/** As the default of a database may be, too. */
const inSnapshots: Open = (url) => {
  const pool = new Pool({ connectionString: url, options: '-c default_transaction_isolation=serializable' });
  return { store: postgresStore(pool, { prefix: 'shop' }), close: () => pool.end() };
};
const byMysql2: Open = (url) => {
  const pool = createPool({ uri: url, supportBigNumbers: true, bigNumberStrings: true });
  return { store: mysqlStore(pool, { prefix: 'shop' }), close: () => pool.end() };
};

expectWarnings('SLUICE_STORE_AWAY');

const folder = mkdtempSync(join(tmpdir(), 'sluice-race-'));
const racer = join(folder, 'racer.mjs');
beforeAll(async () => {
  await build({
    entryPoints: [fileURLToPath(new URL('racer.ts', import.meta.url))],
    ...{ bundle: true, platform: 'node', target: 'node20', format: 'esm', outfile: racer, logLevel: 'silent' },
    external: ['pg-native'],
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  });
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const TABLE = 'sluice';

const DATABASES: readonly [database: 'postgres' | 'mariadb', first: Open, further: Readonly<Record<string, Open>>][] = [
  ['postgres', byPg, { postgres: byPostgres }],
  ['mariadb', byMysql2, {}],
];

for (const [database, first, further] of DATABASES)
  // Left out where there is no such database.
  (sqlServers[database] === undefined ? describe.skip : describe)(`a store in ${database}`, () => {
    let server: SqlServer;
    const closing: (() => unknown)[] = [];
    const open = (by: Open = first, url = server.url): SqlStore => {
      const { store, close } = by(url);
      closing.push(close);
      return store;
    };
    const openProxy = async (): Promise<TcpProxy> => {
      const { hostname, port } = new URL(server.url);
      const proxy = await startTcpProxy({ host: hostname, port: Number(port) });
      closing.unshift(() => proxy.close());
      return proxy;
    };
    beforeAll(async () => {
      server = await (sqlServers[database] as () => Promise<SqlServer>)();
    }, 60_000);
    afterAll(async () => {
      for (const close of closing) await close();
      await server.stop();
    });

    for (const [client, by] of Object.entries({ [first.name]: first, ...further })) {
      describeStore(client, () => open(by), jest);
    }

    it('makes its table once, however many do so at once', async () => {
      await server.query(`drop table ${TABLE}`);

      await Promise.all(Array.from({ length: 4 }, () => open().migrate()));

      await expect(server.query(`select * from ${TABLE}`)).resolves.toBeDefined();
    });

    if (database === 'postgres') {
      it('denies a process without a wait where another has won', async () => {
        const [loser, winner, session] = [open(), open(), new Client(server.url)];
        await session.connect();
        const ask = { key: '{won}', policy: fixedWindow({ limit: 2, window: '1h' }), cost: 1, uncached: true };
        await loser.perform('take', [ask]);
        await winner.perform('take', [ask]);

        await session.query("select pg_advisory_lock(hashtextextended('shop:{won}', 0))");
        const answer = loser.perform('take', [ask]) as Promise<Answer>;
        const first = await Promise.race([answer, new Promise((resolve) => setTimeout(resolve, 20_000, 'it waits'))]);
        await session.end();

        expect(first).toMatchObject({ figures: [{ [ALLOWED]: 0, [USED]: 2 }] });
      }, 60_000);

      it('says which SQL to run if its user may not', async () => {
        await server.query('create role guest login');
        const pool = new Pool({ connectionString: server.url.replace('sluice@', 'guest@') });
        closing.push(() => pool.end());
        const store = postgresStore(pool, { prefix: 'shop', table: 'of_guest' });
        const ask = { key: '{ann}:api', policy: fixedWindow({ limit: 5, window: '1h' }), cost: 1 };

        await expect(store.perform('take', [ask])).rejects.toMatchObject({
          code: 'SLUICE_STORE_FAILED',
          kind: 'denied',
          message: expect.stringMatching(
            /permission denied.*have a user with the permission run:\n.*create unlogged table/s,
          ) as unknown,
        });
      });
    }

    it('removes rows that have ended', async () => {
      const store = open();
      await server.query(`delete from ${TABLE}`);
      const ask = (key: string) => ({ key, policy: fixedWindow({ limit: 5, window: '1ms' }), cost: 1 });
      await Promise.all(Array.from({ length: 40 }, (_, i) => store.perform('take', [ask(String(i))])));
      await server.query(`update ${TABLE} set expires_at = 1`);

      for (let i = 0; i < 40; i++) await store.perform('take', [ask('new')]);

      expect(await rowsOf(server)).toBe(1);
    });

    it('counts what processes ask for at once, however the database keeps transactions apart', async () => {
      const stores = Array.from({ length: 3 }, () => open(database === 'postgres' ? inSnapshots : first));
      const ask = { key: '{snapshots}', policy: fixedWindow({ limit: 1000, window: '1h' }), cost: 1, uncached: true };

      const takeAll = async (store: Store): Promise<void> => {
        for (let i = 0; i < 40; i++) await store.perform('take', [ask]);
      };
      await Promise.all(stores.map(takeAll));

      expect((await open().perform('peek', [ask])).figures[0]?.[USED]).toBe(120);
    });

    it('decides at no earlier instant than what it has read', async () => {
      const store = open();
      await store.migrate();

      const release = await lockTable(server.url);
      const peeked = store.perform('peek', [{ key: 'ann', policy: fixedWindow({ limit: 5, window: '1h' }), cost: 1 }]);
      await new Promise((resolve) => setTimeout(resolve, 60));
      const lockedAtMs = Date.now();
      await release();

      expect((await peeked).atMs).toBeGreaterThanOrEqual(lockedAtMs);
    });

    it('allows exactly the limit to processes that race, of which one is killed', async () => {
      const children = Array.from({ length: 4 }, () => race(database, server.url));
      const [killed] = children as [ChildProcess];
      const printed = children.map(({ stdout }) => text(stdout as NodeJS.ReadableStream));
      await once(killed.stdout as NodeJS.ReadableStream, 'readable');
      killed.kill('SIGKILL');

      const allowed = (await Promise.all(printed)).join('').length;

      // Of what the killed one had asked for at last, its answers are unknown.
      expect(allowed).toBeLessThanOrEqual(300);
      expect(allowed).toBeGreaterThanOrEqual(297);
    }, 60_000);

    it('decides over a slow connection', async () => {
      const proxy = await openProxy();
      const store = open(first, proxy.through(server.url));
      const limiter = createLimiter({ name: 'slow', limit: 5, window: '1h', store, timeoutMs: 5_000 });
      await limiter.consume('ann');
      proxy.delay(80);

      for (let i = 0; i < 2; i++) await limiter.consume('ann');

      expect((await limiter.peek('ann')).used).toBe(3);
      await limiter.close();
    });

    it('that hangs, and whose connections break, is replaced by the memory within the time of a request, and decides again', async () => {
      const proxy = await openProxy();
      const limiter = createLimiter({ limit: 1000, window: '1h', store: open(first, proxy.through(server.url)) });
      await until('it decides', async () => (await limiter.consume('ann')).source !== 'local');

      proxy.hang();
      const sources: string[] = [];
      for (let i = 0; i < 6; i++) sources.push((await limiter.consume('ann')).source);
      const { error } = await limiter.consume('ann');
      await proxy.heal();
      proxy.cut();

      expect(sources).toEqual(Array.from({ length: 6 }, () => 'local'));
      expect(error).toMatchObject({ code: 'SLUICE_BREAKER_OPEN' });
      await until('it decides again', async () => (await limiter.consume('ann')).source !== 'local');
      await limiter.close();
    });
  });

/** Keeps others from the table until the returned function is called. */
async function lockTable(url: string): Promise<() => Promise<void>> {
  if (url.startsWith('postgres')) {
    const client = new Client(url);
    await client.connect();
    await client.query(`begin; lock table ${TABLE}`);
    return () => client.end();
  }
  const connection = await createConnection(url);
  await connection.query(`lock tables ${TABLE} write`);
  return () => connection.end();
}

function race(database: string, url: string): ChildProcess {
  return spawn(process.execPath, [racer, database, url], { stdio: ['ignore', 'pipe', 'inherit'] });
}

async function rowsOf(server: SqlServer): Promise<number> {
  const reply = JSON.stringify(await server.query(`select count(*) as rows_kept from ${TABLE}`));
  return Number(/"rows_kept":"?(\d+)/.exec(reply)?.[1]);
}
