import { describe, expect, it } from '@jest/globals';
import { fixedWindow, memoryStore, type Limiter } from '@sluice/old-core';
import { createPolicies, managed, type Policies, type PolicySource } from '@sluice/old-managed';
import { startRedis, until } from '@sluice/testkit';
import { useManaged } from './use-managed.ts';

const { policies, limiter, connect, keep, warnings } = useManaged();

const apps = ['checkout'];
const timeoutMs = 60_000;
const of = (limit: number): ReturnType<typeof fixedWindow> => fixedWindow({ limit, window: '1h' });

/** A source that is away when the test says so. */
interface Flaky extends PolicySource {
  how: 'there' | 'rejects' | 'hangs';
}

let named = 0;

/** Over the policies in Redis; its name is in no other test. */
function flaky(over: Policies): Flaky {
  const { source } = (over as unknown as { policyCache: { source: PolicySource } }).policyCache;
  const through = async <T>(call: () => Promise<T>): Promise<T> => {
    if (flakySource.how === 'hangs') await new Promise(() => undefined);
    if (flakySource.how === 'rejects') throw new Error('the connection was reset');
    return call();
  };
  const overrides = source.overrides as NonNullable<typeof source.overrides>;
  const flakySource: Flaky = {
    how: 'there',
    name: `the source ${String(named++)}`,
    everyMs: 20,
    load: () => through(() => source.load()),
    overrides: {
      changes: (cursor) => through(() => overrides.changes(cursor)),
      read: (name) => through(() => overrides.read(name)),
    },
  };
  return flakySource;
}

const away = (source: PolicySource): string[] =>
  warnings.filter((warning) => warning.includes('SLUICE_POLICIES_AWAY') && warning.includes(`${String(source.name)} `));

function limiterOver(source: PolicySource): Limiter {
  const there = keep(createPolicies(source));
  return limiter({ policy: managed('orders'), policies: there, store: memoryStore(), timeoutMs });
}

const limitsOf = async (orders: Limiter): Promise<number[]> =>
  Promise.all(['ann', 'bob', 'org-7:eve'].map(async (key) => (await orders.peek(key)).limit));

async function putAll(): Promise<Policies> {
  const here = policies();
  await here.put('orders', of(10), { apps });
  await here.override('orders', 'ann', of(50));
  await here.override('orders', { prefix: 'org-7:' }, of(20));
  return here;
}

describe('a source that goes away, and comes back', () => {
  it('does not stop decisions: what was read last decides, and a warning names it', async () => {
    const here = await putAll();
    const source = flaky(policies());
    const orders = limiterOver(source);
    await orders.consume('ann', 30);

    source.how = 'rejects';
    await until('the warning is given', () => away(source).length === 1);
    await here.override('orders', 'bob', of(70));
    await here.removeOverride('orders', 'ann');
    const whileAway = await limitsOf(orders);
    source.how = 'there';
    await until('the changes are heard of', async () => (await orders.peek('bob')).limit === 70);

    expect(whileAway).toEqual([50, 10, 20]);
    expect(await limitsOf(orders)).toEqual([10, 70, 20]);
    expect(await orders.consume('ann')).toMatchObject({ allowed: false, used: 30 });
    expect(away(source)[0]).toContain('that were read last are in force');
  });

  it('or hangs: what was read last decides as well', async () => {
    const here = await putAll();
    const source = flaky(policies());
    const orders = limiterOver(source);
    await orders.consume('bob');

    source.how = 'hangs';
    const whileAway = await orders.consume('bob');
    source.how = 'there';
    await here.put('orders', of(20), { apps });
    await until('the change is heard of', async () => (await orders.peek('bob')).limit === 20);

    expect(whileAway).toMatchObject({ limit: 10, remaining: 8 });
  });
});

describe('overrides that are gone from their source', () => {
  it('are not removed: the last known ones stay, with a warning, and those that are put then count', async () => {
    const server = await startRedis();
    try {
      const here = policies(connect(server.url));
      await here.put('lost-overrides', of(10), { apps });
      await here.override('lost-overrides', 'ann', of(50));
      const there = policies(connect(server.url));
      const orders = limiter({ policy: managed('lost-overrides'), policies: there, store: memoryStore(), timeoutMs });
      await orders.consume('ann');

      await connect(server.url).flushall();
      await until('the warning is given', () =>
        warnings.some((one) => one.includes('overrides of the managed policy lost')),
      );
      const kept = (await orders.peek('ann')).limit;
      await here.put('lost-overrides', of(10), { apps });
      await here.override('lost-overrides', 'bob', of(70));
      await until('the new one counts', async () => (await orders.peek('bob')).limit === 70);

      expect(kept).toBe(50);
      expect((await orders.peek('ann')).limit).toBe(50);
    } finally {
      await server.stop();
    }
  });
});
