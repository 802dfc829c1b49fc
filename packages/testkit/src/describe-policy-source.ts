import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, memoryStore, silenceWarnings, type Limiter, type Policy } from '@sluice/core';
import { createPolicies, managed, type Policies, type PolicySource } from '@sluice/core/managed';
import { ExampleProcess } from './example-process.ts';
import { until } from './until.ts';
import { useClosing } from './use-closing.ts';

/** A server that keeps policies. */
export interface PolicyServer {
  /** Removes every record, as an operator might without Sluice. */
  clear(): Promise<unknown>;
  /** Overwrites the policy `orders` with a text that is not a record. */
  spoil(): Promise<unknown>;
  kill(): Promise<unknown>;
  stop(): Promise<unknown>;
}

/** An example whose limit is kept in such a server. */
export interface PolicyExample<Server extends PolicyServer> {
  /** Undefined if this machine has none: the tests are left out. */
  readonly start: (() => Promise<Server>) | undefined;
  /** A source with its own connections, like another process. */
  open(server: Server): Promise<{ readonly source: PolicySource; close?(): Promise<unknown> }>;
  /**
   * The folder of its programs `main.js` and `change-limit.js`, and the environment that connects them to the server.
   */
  readonly programs: URL;
  env(server: Server): Readonly<Record<string, string>>;
}

const apps = ['shop'];
const of = (limit: number): Policy => fixedWindow({ limit, window: '1h' });

/** What a source of managed policies has to do, on the real server, and the programs of its example. */
export function describePolicySource<Server extends PolicyServer>(name: string, example: PolicyExample<Server>): void {
  silenceWarnings('SLUICE_POLICIES_AWAY', 'SLUICE_POLICIES_LOST', 'SLUICE_POLICY_UNCONFIGURED');

  if (example.start === undefined) console.warn(`There is no ${name} on this machine: its tests are left out.`);
  (example.start === undefined ? describe.skip : describe)(`policies in ${name}`, () => {
    let server: Server;
    const closing = useClosing();
    beforeAll(async () => {
      server = await (example.start as () => Promise<Server>)();
    }, 60_000);
    beforeEach(async () => {
      await server.clear();
    });
    afterAll(() => server.stop());

    async function newPolicies(): Promise<Policies> {
      const opened = await example.open(server);
      const policies = createPolicies(opened.source);
      closing(() => opened.close?.());
      return closing(policies);
    }

    async function newLimiter(): Promise<Limiter> {
      const options = { policy: managed('orders'), app: 'shop', policies: await newPolicies(), timeoutMs: 60_000 };
      const limiter = createLimiter({ ...options, store: memoryStore(), onStoreError: 'throw' });
      return closing(limiter);
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
    });

    it('are compared and set: changes that processes make at once all count', async () => {
      const processes = await Promise.all([2, 3, 4, 5, 6].map(() => newPolicies()));

      const put = await Promise.all(
        processes.map(async (policies, i) => (await policies.put('orders', of(i + 1), { apps })).changedAtMs),
      );

      expect(new Set(put).size).toBe(5);
      expect((await (await newPolicies()).get('orders'))?.changedAtMs).toBe(Math.max(...put));
    });

    it('change in limiters, and so do overrides of keys that differ in case, spaces and slashes', async () => {
      const here = await newPolicies();
      await here.put('orders', of(10), { apps });
      const keys = ['ann', 'Ann', 'ann ', 'org/7', 'änn'];
      for (const [i, key] of keys.entries()) await here.override('orders', key, of(20 + i));
      const orders = await newLimiter();
      await orders.consume('bob', 4);

      expect(await Promise.all([...keys, 'bob'].map(async (key) => (await orders.peek(key)).limit))).toEqual([
        20, 21, 22, 23, 24, 10,
      ]);
      await here.put('orders', of(30), { apps });
      await here.removeOverride('orders', 'ann');
      await until('all is heard of', async () => (await orders.peek('ann')).limit === 30);
      expect(await orders.peek('bob')).toMatchObject({ limit: 30, remaining: 26 });
    });

    it('that are lost stay in use, and those that are overwritten can be put again', async () => {
      const here = await newPolicies();
      await here.put('orders', of(10), { apps });
      const orders = await newLimiter();
      await orders.consume('ann', 4);

      await server.spoil();
      expect(await (await newPolicies()).get('orders')).toBeUndefined();
      expect(await orders.consume('ann')).toMatchObject({ limit: 10, remaining: 5 });
      await (await newPolicies()).put('orders', of(12), { apps });

      await until('the new one counts', async () => (await orders.peek('ann')).limit === 12);
    });

    it('are followed by the service, which goes on without the server', async () => {
      const run = (program: string, ...args: string[]): ExampleProcess =>
        new ExampleProcess(new URL(program, example.programs), example.env(server), args);
      const change = async (...args: string[]): Promise<string> => {
        const program = run('change-limit.js', ...args);
        expect(await program.ends()).toBe(0);
        return program.stdout;
      };
      const service = run('main.js');
      closing(() => {
        service.stop();
      });
      const url = `http://127.0.0.1:${String(await service.listens())}/orders`;
      const quota = async (): Promise<string | null> => (await fetch(url)).headers.get('ratelimit-policy');

      expect([403, 503]).toContain((await fetch(url)).status); // there is no limit yet
      expect(await change('3', '10m')).toBe('orders: created\n');
      await until('the limit is there', async () => (await quota()) === '"orders";q=3;w=600');
      expect(await change('50', '10m')).toBe('orders: changed\n');
      await until('the limit is another', async () => (await quota()) === '"orders";q=50;w=600');
      await server.kill();
      expect(await quota()).toBe('"orders";q=50;w=600');
      service.stop();
      expect(await service.ends()).toBe(0);
    });
  });
}
