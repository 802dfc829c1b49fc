import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, memoryStore, silenceWarnings, type Limiter, type Policy } from '@sluice/express';
import { createPolicies, managed, type Policies } from '@sluice/core/managed';
import { until } from '@sluice/testkit';
import { openDatabase, type Database } from '../src/settings.ts';
import { SERVERS, type Server } from './servers.ts';

silenceWarnings('SLUICE_POLICIES_AWAY', 'SLUICE_POLICIES_LOST', 'SLUICE_POLICY_UNCONFIGURED');

const apps = ['shop'];
const of = (limit: number): Policy => fixedWindow({ limit, window: '1h' });

for (const [name, start] of SERVERS) {
  if (start === undefined) console.warn(`There is no ${name} on this machine: its tests are left out.`);
  (start === undefined ? describe.skip : describe)(`policies in ${name}`, () => {
    let server: Server;
    const databases: Database[] = [];
    const limiters: Limiter[] = [];
    const children: ChildProcess[] = [];
    beforeAll(async () => {
      server = await (start as () => Promise<Server>)();
    });
    beforeEach(async () => {
      await server.query('drop table if exists sluice_policies');
    });
    afterEach(async () => {
      for (const child of children.splice(0)) child.kill('SIGKILL');
      await Promise.all(limiters.splice(0).map((limiter) => limiter.close()));
      await Promise.all(databases.splice(0).map((database) => database.close()));
    });
    afterAll(() => server.stop());

    /** Policies with connections of their own, like those of a process. */
    async function newPolicies(): Promise<Policies> {
      const database = openDatabase({ DATABASE_URL: server.url });
      databases.push(database);
      await database.createTable();
      return createPolicies(database.source);
    }

    async function newLimiter(): Promise<Limiter> {
      const policies = await newPolicies();
      const limiter = createLimiter({
        policy: managed('orders'),
        app: 'shop',
        policies,
        store: memoryStore(),
        timeoutMs: 60_000,
        onStoreError: 'throw',
      });
      limiters.push(limiter);
      return limiter;
    }

    it('are put, read, listed and removed, by every process', async () => {
      const [here, there] = [await newPolicies(), await newPolicies()];

      const put = await here.put('orders', of(10), { apps });
      await here.put('login', of(3), { apps });
      const again = await there.put('orders', of(10), { apps });
      const isRemoved = await there.remove('login');

      expect([put.change, again.change, again.changedAtMs === put.changedAtMs]).toEqual(['created', 'unchanged', true]);
      expect(isRemoved).toBe(true);
      expect((await here.list()).map((policy) => policy.name)).toEqual(['orders']);
      expect(await here.get('login')).toBeUndefined();
      expect(await here.remove('login')).toBe(false);
    });

    it('are compared and set: concurrent changes by many processes all count', async () => {
      const processes = await Promise.all([2, 3, 4, 5, 6].map(() => newPolicies()));

      const put = await Promise.all(
        processes.map(async (policies, i) => (await policies.put('orders', of(i + 1), { apps })).changedAtMs),
      );

      expect(new Set(put).size).toBe(5);
      expect((await (await newPolicies()).get('orders'))?.changedAtMs).toBe(Math.max(...put));
    });

    it('change in limiters, and so do overrides', async () => {
      const here = await newPolicies();
      await here.put('orders', of(10), { apps });
      await here.override('orders', 'ann', of(50), { by: 'eve', reason: 'a sale' });
      const orders = await newLimiter();
      await orders.consume('bob', 4);
      const before = [(await orders.peek('ann')).limit, (await orders.peek('bob')).limit];

      await here.put('orders', of(20), { apps });
      await here.removeOverride('orders', 'ann');
      await until('all is heard of', async () => (await orders.peek('ann')).limit === 20);

      expect(before).toEqual([50, 10]);
      expect(await orders.peek('bob')).toMatchObject({ limit: 20, remaining: 16 });
      expect(await here.overrides('orders')).toEqual([]);
    });

    it('keep keys apart that differ in case, or in spaces at their end', async () => {
      const here = await newPolicies();
      await here.put('orders', of(10), { apps });
      for (const [i, key] of ['ann', 'Ann', 'ann ', 'änn'].entries()) await here.override('orders', key, of(20 + i));
      const orders = await newLimiter();

      const found = await Promise.all(['ann', 'Ann', 'ann ', 'änn', 'ANN'].map((key) => orders.peek(key)));

      expect(found.map(({ limit }) => limit)).toEqual([20, 21, 22, 23, 10]);
    });

    it('that are lost stay in use, and are put again', async () => {
      const here = await newPolicies();
      await here.put('orders', of(10), { apps });
      const orders = await newLimiter();
      await orders.consume('ann', 4);

      await server.query('delete from sluice_policies');
      const there = await newPolicies();
      const lost = await there.get('orders');
      const kept = await orders.consume('ann');
      await there.put('orders', of(12), { apps });
      await until('the new one counts', async () => (await orders.peek('ann')).limit === 12);

      expect(lost).toBeUndefined();
      expect(kept).toMatchObject({ limit: 10, remaining: 5 });
    });

    it('that others have overwritten with what is no record are put again', async () => {
      const here = await newPolicies();
      await here.put('orders', of(10), { apps });
      await server.query(`update sluice_policies set record = 'ten an hour'`);

      const there = await newPolicies();
      const unusable = await there.get('orders');
      await there.put('orders', of(12), { apps });

      expect(unusable).toBeUndefined();
      expect(await here.get('orders')).toMatchObject({ policy: { limit: 12 } });
    });

    function run(program: string, ...args: readonly string[]): ChildProcess & { stdout: NodeJS.ReadableStream } {
      const path = fileURLToPath(new URL(`../dist/${program}.js`, import.meta.url));
      const env = { PATH: process.env['PATH'], PORT: '0', DATABASE_URL: server.url };
      const child = spawn(process.execPath, [path, ...args], { env, stdio: ['ignore', 'pipe', 'ignore'] });
      children.push(child);
      return child;
    }

    it('are followed by the service, which goes on without its database', async () => {
      const service = run('main');
      let output = '';
      service.stdout.on('data', (chunk) => (output += String(chunk)));
      const url = await until('it listens', () => /Listening on (\S+),/.exec(output)?.[1]);
      const withoutTable = await fetch(`${url}/orders`);
      const policyOf = async (): Promise<string | null> =>
        (await fetch(`${url}/orders`)).headers.get('ratelimit-policy');

      expect(withoutTable.status).toBe(503);
      expect(await text(run('change-limit', '3', '10m').stdout)).toBe('orders: created\n');
      await until('the limit is there', async () => (await policyOf()) === '"orders";q=3;w=600');
      expect(await text(run('change-limit', '50', '10m').stdout)).toBe('orders: changed\n');
      await until('the limit is another', async () => (await policyOf()) === '"orders";q=50;w=600');
      await server.kill();
      expect(await policyOf()).toBe('"orders";q=50;w=600');
      service.kill('SIGTERM');
      expect(await until('it ends', () => service.exitCode ?? undefined)).toBe(0);
    });
  });
}
